#include "query/database/feed_index_kinds.h"

#include "query/search/search_kind.h"
#include "query/view/view_group.h"

namespace octavo::query {

const std::vector<FeedIndexKind>& feed_index_kinds() {
  static const std::vector<FeedIndexKind> kinds{views::view_kind(), search::search_index_kind()};
  return kinds;
}

}  // namespace octavo::query
