#pragma once

#include <optional>
#include <string>
#include <string_view>

/// RFC 4648. Decoders accept untrusted text: nullopt for an invalid character, an impossible length or non-zero spare
/// bits.
namespace octavo::crypto {

std::string base64_encode(std::string_view bytes);
/// Padding may be missing, but not wrong.
std::optional<std::string> base64_decode(std::string_view text);

/// With `-` and `_`, without padding (JWT, session cookies).
std::string base64url_encode(std::string_view bytes);
/// Padding may be missing, but not wrong.
std::optional<std::string> base64url_decode(std::string_view text);

/// The value of a hexadecimal digit of either case; -1 for other characters.
constexpr int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
std::string hex_encode(std::string_view bytes);
/// Either case. nullopt for an odd length or an invalid character.
std::optional<std::string> hex_decode(std::string_view text);

}  // namespace octavo::crypto
