#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "query/index/feed_index_kind.h"
#include "query/search/search_kind.h"
#include "query/view/view_group.h"

namespace octavo::query {

std::string feed_index_identity(std::string_view content) {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  EVP_Digest(content.data(), content.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string text;
  for (std::size_t i = 0; i < 16; ++i) text += fmt::format("{:02x}", digest[i]);
  return text;
}

const std::vector<FeedIndexKind>& feed_index_kinds() {
  static const std::vector<FeedIndexKind> kinds{views::view_kind(), search::search_index_kind()};
  return kinds;
}

}  // namespace octavo::query
