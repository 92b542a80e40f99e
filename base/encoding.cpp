#include "base/encoding.h"

#include <array>
#include <cstdint>

namespace octavo::crypto {

namespace {

constexpr std::string_view standard_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view url_alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t foreign = 0xff;

using ReverseTable = std::array<std::uint8_t, 256>;

constexpr ReverseTable reverse(std::string_view alphabet) {
  ReverseTable table{};
  table.fill(foreign);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<unsigned char>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}

constexpr ReverseTable standard_reverse = reverse(standard_alphabet);
constexpr ReverseTable url_reverse = reverse(url_alphabet);

std::string encode(std::string_view bytes, std::string_view alphabet, bool pad) {
  std::string out((bytes.size() + 2) / 3 * 4, '=');
  char* end = out.data();
  const auto put = [&](std::uint32_t group, std::size_t digits) {
    for (std::size_t j = 0; j < digits; ++j) *end++ = alphabet[group >> (18 - 6 * j) & 63];
  };
  const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(bytes[i])}; };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) put(byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2), 4);
  if (bytes.size() - i == 2) put(byte(i) << 16 | byte(i + 1) << 8, 3);
  if (bytes.size() - i == 1) put(byte(i) << 16, 2);
  if (!pad) out.resize(static_cast<std::size_t>(end - out.data()));
  return out;
}

std::optional<std::string> decode(std::string_view text, const ReverseTable& table) {
  if (text.ends_with('=')) {
    if (text.size() % 4 != 0) return std::nullopt;
    text.remove_suffix(1);
    if (text.ends_with('=')) text.remove_suffix(1);
  }
  if (text.size() % 4 == 1) return std::nullopt;
  std::string out(text.size() / 4 * 3 + 2, '\0');
  char* end = out.data();
  std::uint32_t bits = 0;
  unsigned bit_count = 0;
  std::uint8_t seen = 0;
  for (const char c : text) {
    const std::uint8_t value = table[static_cast<unsigned char>(c)];
    seen |= value;
    bits = bits << 6 | value;
    bit_count += 6;
    if (bit_count >= 8) {
      bit_count -= 8;
      *end++ = static_cast<char>(bits >> bit_count & 0xff);
    }
  }
  if (seen > 63) return std::nullopt;  // a character is not in the alphabet
  out.resize(static_cast<std::size_t>(end - out.data()));
  // Non-zero spare bits would give one value two encodings: two different session cookies would both verify.
  if ((bits & ((1U << bit_count) - 1)) != 0) return std::nullopt;
  return out;
}

}  // namespace

std::string base64_encode(std::string_view bytes) {
  return encode(bytes, standard_alphabet, true);
}

std::optional<std::string> base64_decode(std::string_view text) {
  return decode(text, standard_reverse);
}

std::string base64url_encode(std::string_view bytes) {
  return encode(bytes, url_alphabet, false);
}

std::optional<std::string> base64url_decode(std::string_view text) {
  return decode(text, url_reverse);
}

std::string hex_encode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    out.push_back(hex_digits[static_cast<unsigned char>(c) >> 4]);
    out.push_back(hex_digits[static_cast<unsigned char>(c) & 15]);
  }
  return out;
}

std::optional<std::string> hex_decode(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 2);
  for (std::size_t i = 0; i < text.size(); i += 2) {
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    out.push_back(static_cast<char>(high << 4 | low));
  }
  return out;
}

}  // namespace octavo::crypto
