#pragma once

#include <vector>

#include "query/follow/feed_index_kind.h"

namespace octavo::query {

/// All kinds of indexes that follow the feed which the server has.
const std::vector<FeedIndexKind>& feed_index_kinds();

}  // namespace octavo::query
