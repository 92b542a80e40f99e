#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// Bytes as text that can stand in URLs, headers and JSON as it is (RFC 4648, without padding).
std::string to_base64url(std::string_view bytes);
/// nullopt: a character that is none of the alphabet.
std::optional<std::string> from_base64url(std::string_view text);

/// FNV-1a: against accidents, not against forgers.
std::uint32_t checksum_of(std::string_view bytes);

}  // namespace octavo::query
