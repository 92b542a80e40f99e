// Strings of binary JSON in compressed forms, after a type byte. A size counts characters, in one byte, or in two for
// 7F. Characters are packed from the lowest bit of the first byte on; the bits that are left over at the end mean
// nothing.
//
//   71, 72      base64: a quarter of the size with padding, in 1, 2 bytes; the number of `=`, or its complement
//               (FE, FD) if they are omitted; and the bytes
//   73, 74      the same with `-` and `_`
//   75, 76, 77  16 bytes of a UUID in lower case, in upper case, in lower case and in quotes; low half of a byte first
//   78, 79, 7A  a size, and 4 bits for each of `lowercase_digits`, `uppercase_digits`, `time_characters`
//   7B, 7C, 7D  a size, a character, and 4, 5, 6 bits for how far each character is from that one
//   7E, 7F      a size, and 7 bits for each character
#include "api/cosmos/call/compressed_string.h"

#include <algorithm>

#include "base/assert.h"
#include "base/encoding.h"

namespace octavo::api::cosmos {
namespace {

constexpr std::string_view lowercase_digits = "0123456789abcdef";
constexpr std::string_view uppercase_digits = "0123456789ABCDEF";
constexpr std::string_view time_characters = " 0123456789:-.TZ";

std::size_t byte_at(std::string_view bytes, std::size_t at) {
  return static_cast<unsigned char>(bytes[at]);
}

// `count` numbers of `bits` bits. Precondition: the bytes have as many.
template <typename Append>
void unpack(std::string_view bytes, std::size_t count, std::size_t bits, Append append) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * bits;
    std::size_t value = byte_at(bytes, at / 8) >> (at % 8);
    if (at % 8 + bits > 8) value |= byte_at(bytes, at / 8 + 1) << (8 - at % 8);
    append(value & ((std::size_t{1} << bits) - 1));
  }
}

std::optional<DecompressedString> uuid(unsigned char type, std::string_view bytes) {
  constexpr std::size_t uuid_bytes = 16;
  if (bytes.size() < uuid_bytes) return std::nullopt;
  const std::string_view digits = type == 0x76 ? uppercase_digits : lowercase_digits;
  const std::string quote = type == 0x77 ? "\"" : "";
  std::string text = quote;
  std::size_t count = 0;
  unpack(bytes, 2 * uuid_bytes, 4, [&](std::size_t digit) {
    if (count == 8 || count == 12 || count == 16 || count == 20) text += '-';
    text += digits[digit];
    ++count;
  });
  return DecompressedString{.text = text + quote, .bytes_used = uuid_bytes};
}

std::optional<DecompressedString> base64(unsigned char type, std::size_t quads, std::size_t header,
                                         std::string_view bytes) {
  if (bytes.size() <= header) return std::nullopt;
  const std::size_t byte = byte_at(bytes, header);
  const bool omitted = byte > 2;
  const std::size_t padding = omitted ? 0xFF - byte : byte;
  if (padding > 2 || (quads == 0 && padding > 0)) return std::nullopt;
  const std::size_t count = (4 * quads - padding) * 3 / 4;
  if (bytes.size() - header - 1 < count) return std::nullopt;
  std::string text = crypto::base64_encode(bytes.substr(header + 1, count));
  OCTAVO_ASSERT(text.size() == 4 * quads);
  if (omitted) text.resize(text.size() - padding);
  if (type >= 0x73) {
    std::ranges::replace(text, '+', '-');
    std::ranges::replace(text, '/', '_');
  }
  return DecompressedString{.text = std::move(text), .bytes_used = header + 1 + count};
}

}  // namespace

bool is_compressed_string(unsigned char type) {
  return type >= 0x71 && type <= 0x7F;
}

std::optional<DecompressedString> decompress(unsigned char type, std::string_view bytes) {
  OCTAVO_ASSERT(is_compressed_string(type));
  if (type >= 0x75 && type <= 0x77) return uuid(type, bytes);
  std::size_t header = type == 0x72 || type == 0x74 || type == 0x7F ? 2 : 1;
  if (bytes.size() < header) return std::nullopt;
  const std::size_t count = byte_at(bytes, 0) | (header == 2 ? byte_at(bytes, 1) << 8 : 0);
  if (type <= 0x74) return base64(type, count, header, bytes);

  unsigned char base = 0;
  if (type >= 0x7B && type <= 0x7D) {
    if (bytes.size() == header) return std::nullopt;
    base = static_cast<unsigned char>(bytes[header++]);
  }
  const std::size_t bits = type <= 0x7B ? 4 : std::min<std::size_t>(type - 0x77U, 7);
  const std::size_t packed = (count * bits + 7) / 8;
  if (bytes.size() - header < packed) return std::nullopt;
  DecompressedString read{.text = {}, .bytes_used = header + packed};
  read.text.reserve(count);
  const std::string_view characters = type == 0x78   ? lowercase_digits
                                      : type == 0x79 ? uppercase_digits
                                      : type == 0x7A ? time_characters
                                                     : std::string_view();
  unpack(bytes.substr(header), count, bits, [&](std::size_t value) {
    read.text += characters.empty() ? static_cast<char>(base + value) : characters[value];
  });
  return read;
}

}  // namespace octavo::api::cosmos
