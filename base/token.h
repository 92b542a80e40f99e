#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace octavo {

/// Encodes bytes that clients keep and send back unread, as base64url text with a checksum.
///
/// Format (token):
///   token := base64url(bytes checksum), checksum := FNV-1a 32 of bytes origin, u32be
///
/// The checksum detects accidents; it does not protect against forgery. `origin`: what the bytes are a position in.
std::string seal_token(std::string bytes, std::string_view origin = {});
/// The bytes; nullopt if `text` was not made by seal_token with this origin, or was cut or changed.
std::optional<std::string> open_token(std::string_view text, std::string_view origin = {});

}  // namespace octavo
