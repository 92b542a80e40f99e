#include "query/index/feed_index_kind.h"

namespace octavo::query {

const std::vector<FeedIndexKind>& feed_index_kinds() {
  static const std::vector<FeedIndexKind> kinds;
  return kinds;
}

}  // namespace octavo::query
