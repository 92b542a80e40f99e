#pragma once

#include <string_view>

namespace octavo::api {

/// The value of an entity tag (RFC 9110 §8.8.3) without quotes and `W/`. Other text is returned unchanged, for clients
/// that send tags without quotes. The result is a part of `tag`.
std::string_view unquoted_tag(std::string_view tag);

}  // namespace octavo::api
