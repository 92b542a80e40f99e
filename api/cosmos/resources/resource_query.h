#pragma once

#include <string>
#include <string_view>

#include "api/cosmos/call/call.h"
#include "api/cosmos/call/feed_page.h"

namespace octavo::api::cosmos {

/// Runs the query in the request's body over `resources`. `rid` and `feed`: `_rid` and list name of the reply.
/// Errors: those of a query.
Handled query_resources(Call& call, std::string rid, std::string_view feed, ResourceList resources);

}  // namespace octavo::api::cosmos
