#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

/// Resources other than items, for a query: ids and JSON texts, in the order of the ids.
using ResourceList = std::vector<std::pair<std::string, std::string>>;

/// Runs the query in the request's body over `resources`. `rid` and `feed`: `_rid` and list name of the reply.
/// Errors: those of a query.
Handled query_resources(Call& call, std::string rid, std::string_view feed, ResourceList resources);

}  // namespace octavo::api::cosmos
