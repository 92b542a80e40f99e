#pragma once

#include "api/cosmos/call/call.h"
#include "api/cosmos/feeds/feed_scope.h"

namespace octavo::api::cosmos {

/// The change feed in the mode "all versions and deletes".
Handled list_versions(Call& call, const OpenContainer& opened, FeedScope scope, std::size_t size);

}  // namespace octavo::api::cosmos
