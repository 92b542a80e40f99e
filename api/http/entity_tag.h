#pragma once

#include <string_view>

namespace octavo::api {

/// What an entity tag (RFC 9110 §8.8.3) says, without its quotes and the mark of a weak one; other text as it is, for
/// clients that send tags bare. Part of `tag`.
std::string_view unquoted_tag(std::string_view tag);

}  // namespace octavo::api
