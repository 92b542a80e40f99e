#include "base/digest.h"
#include "base/encoding.h"
#include "query/follow/feed_index_kind.h"
#include "query/search/search_kind.h"
#include "query/view/view_group.h"

namespace octavo::query {

std::string feed_index_identity(std::string_view content) {
  const auto digest = crypto::sha256(content);
  return crypto::hex_encode({digest.data(), 16});
}

const std::vector<FeedIndexKind>& feed_index_kinds() {
  static const std::vector<FeedIndexKind> kinds{views::view_kind(), search::search_index_kind()};
  return kinds;
}

}  // namespace octavo::query
