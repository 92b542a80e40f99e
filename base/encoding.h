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

/// Hexadecimal digits by value.
inline constexpr std::string_view hex_digits = "0123456789abcdef";
inline constexpr std::string_view upper_hex_digits = "0123456789ABCDEF";

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

/// Appends `%` and two upper-case digits (RFC 3986).
inline void append_percent_encoded(std::string& out, char c) {
  const auto byte = static_cast<unsigned char>(c);
  const char escape[] = {'%', upper_hex_digits[byte >> 4], upper_hex_digits[byte & 15]};
  out.append(escape, sizeof escape);
}

}  // namespace octavo::crypto
