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

/// Resources that are no items, as a query of them sees them: ids and JSON texts, in the order of the ids.
using ResourceList = std::vector<std::pair<std::string, std::string>>;

/// The answer to the query that the request's body holds, over `resources`. `rid` and `feed`: of the reply. Errors: those
/// of a query.
Handled query_resources(Call& call, std::string rid, std::string_view feed, ResourceList resources);

}  // namespace octavo::api::cosmos
