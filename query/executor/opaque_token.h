#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// Encodes bytes as base64url text with a checksum, for tokens that clients store and send back unread.
std::string seal_token(std::string bytes);
/// The bytes; nullopt for a text that seal_token did not make: truncated, changed, or something else.
std::optional<std::string> open_token(std::string_view text);

}  // namespace octavo::query
