#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// Bytes as text that needs no escaping in URLs, headers and JSON (RFC 4648, without padding).
std::string to_base64url(std::string_view bytes);
/// nullopt: the text has a character outside the alphabet.
std::optional<std::string> from_base64url(std::string_view text);

/// FNV-1a: detects accidental changes, not forgery.
std::uint32_t checksum_of(std::string_view bytes);

}  // namespace octavo::query
