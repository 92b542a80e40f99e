#pragma once

#include <string_view>

#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/row_shape.h"
#include "storage/document/document.h"

namespace octavo::api::cosmos {

/// Parses the condition of a patch to a query that returns a row for an item that meets it: `from c where …`, with an
/// alias as in FROM (`FROM products p WHERE …`, `FROM products AS p WHERE …`). Errors: bad_request.
Expected<query::sql::SqlQuery::Ptr> parse_patch_condition(std::string_view text,
                                                          query::sql::ComputedProperties::Ptr computed = nullptr);

/// Whether the item meets the condition. Runs on the writer's thread, so its time is limited to some milliseconds.
/// Errors: too_large if this time or the limits of an item are exceeded.
Expected<bool> meets_condition(const query::sql::SqlQuery& condition, const storage::DocumentView& item,
                               const query::sql::RowShape& shape);

}  // namespace octavo::api::cosmos
