#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// Bytes as base64url text with a checksum, for what clients keep and send back without looking inside.
std::string seal_token(std::string bytes);
/// The bytes; nullopt for a text that seal_token did not make: cut, changed, or something else.
std::optional<std::string> open_token(std::string_view text);

}  // namespace octavo::query
