#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/cosmos/call.h"
#include "api/http/reply.h"
#include "query/sql/sql_query.h"

namespace octavo::api::cosmos {

/// The query that a request's body holds: `{"query":…,"parameters":[…]}`, or the bare text. `computed`: the properties
/// that it may name though no item has them. Errors: bad_request.
Expected<query::sql::SqlQuery::Ptr> parse_query(const Request& request,
                                                query::sql::ComputedProperties::Ptr computed = nullptr);

/// A query over resources that are no items: `resources` are their ids and JSON texts, in order of the ids. Errors:
/// those of a query.
Expected<Reply> query_resources(Call& call, partitioning::Database& database, std::string_view rid,
                                std::string_view feed,
                                const std::vector<std::pair<std::string, std::string>>& resources);

}  // namespace octavo::api::cosmos
