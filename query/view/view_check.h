#pragma once

#include <string_view>

#include "partitioning/database.h"
#include "query/view/view_group.h"
#include "storage/lmdb/check_report.h"

namespace octavo::query::views {

/// Checks an up-to-date group: compares its rows with what the functions emit for each document, with the row keys
/// recorded per document, and with the summaries. Adds each difference to `report`, after `label`. Precondition: no
/// writes to the database meanwhile. Runs JavaScript. O(documents + rows).
Expected<void> check_view_group(partitioning::Database& database, ViewGroup& group, std::string_view label,
                                storage::CheckReport& report);

}  // namespace octavo::query::views
