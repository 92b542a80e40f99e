#include "query/follow/feed_index_kind.h"

#include "base/digest.h"

namespace octavo::query {

std::string feed_index_identity(std::string_view content) {
  return crypto::hex_identity(content);
}

}  // namespace octavo::query
