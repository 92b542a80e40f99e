#include "query/follow/feed_index_kind.h"

#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::query {

std::string feed_index_identity(std::string_view content) {
  const auto digest = crypto::sha256(content);
  return crypto::hex_encode({digest.data(), 16});
}

}  // namespace octavo::query
