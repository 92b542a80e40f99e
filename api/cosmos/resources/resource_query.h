#pragma once

#include <string>
#include <utility>
#include <vector>

#include "api/cosmos/call/call.h"
#include "api/http/reply.h"
#include "query/sql/compile/sql_query.h"

namespace octavo::api::cosmos {

/// Parses the query in a request's body: `{"query":…,"parameters":[…]}`, or the bare text. `computed`: computed
/// properties that it may name. Errors: bad_request.
Expected<query::sql::SqlQuery::Ptr> parse_query(const Request& request,
                                                query::sql::ComputedProperties::Ptr computed = nullptr);

/// Resources other than items, for a query: ids and JSON texts, in the order of the ids.
using ResourceList = std::vector<std::pair<std::string, std::string>>;

/// Runs the query in the request's body over `resources`. `rid` and `feed`: `_rid` and list name of the reply.
/// Errors: those of a query.
Handled query_resources(Call& call, std::string rid, std::string_view feed, ResourceList resources);

}  // namespace octavo::api::cosmos
