#include "query/executor/bookmark.h"

#include <array>

#include "storage/byte_codec.h"

namespace octavo::query {

namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// FNV-1a.
std::uint32_t checksum(std::string_view bytes) {
  std::uint32_t hash = 2166136261U;
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 16777619U;
  return hash;
}

std::string to_base64url(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() * 4 + 2) / 3);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char byte : bytes) {
    buffer = buffer << 8 | static_cast<unsigned char>(byte);
    bits += 8;
    while (bits >= 6) {
      bits -= 6;
      text += kAlphabet[buffer >> bits & 63];
    }
  }
  if (bits > 0) text += kAlphabet[buffer << (6 - bits) & 63];
  return text;
}

std::optional<std::string> from_base64url(std::string_view text) {
  std::string bytes;
  bytes.reserve(text.size() * 3 / 4);
  std::uint32_t buffer = 0;
  int bits = 0;
  for (const char c : text) {
    const std::size_t digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    buffer = buffer << 6 | static_cast<std::uint32_t>(digit);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      bytes += static_cast<char>(buffer >> bits & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

std::string Bookmark::encode() const {
  std::string bytes;
  storage::ByteWriter writer(bytes);
  writer.u8(kVersion);
  writer.u8(static_cast<std::uint8_t>(kind));
  writer.varint(branch);
  writer.sized_bytes(identity);
  writer.sized_bytes(key);
  const std::uint32_t sum = checksum(bytes);
  for (int shift = 24; shift >= 0; shift -= 8) writer.u8(static_cast<std::uint8_t>(sum >> shift));
  return to_base64url(bytes);
}

std::optional<Bookmark> Bookmark::decode(std::string_view text) {
  const auto bytes = from_base64url(text);
  if (!bytes || bytes->size() < 4) return std::nullopt;
  const std::string_view body = std::string_view(*bytes).substr(0, bytes->size() - 4);
  std::uint32_t sum = 0;
  for (const char byte : std::string_view(*bytes).substr(body.size())) {
    sum = sum << 8 | static_cast<unsigned char>(byte);
  }
  if (sum != checksum(body)) return std::nullopt;
  storage::ByteReader reader(body);
  if (reader.u8() != kVersion) return std::nullopt;
  Bookmark bookmark;
  bookmark.kind = static_cast<Kind>(reader.u8());
  switch (bookmark.kind) {
    case Kind::primary:
    case Kind::index:
    case Kind::combined:
    case Kind::sorted:
      break;
    default:
      return std::nullopt;
  }
  bookmark.branch = reader.varint();
  bookmark.identity = reader.sized_bytes();
  bookmark.key = reader.sized_bytes();
  if (!reader.ok() || !reader.rest().empty()) return std::nullopt;
  return bookmark;
}

}  // namespace octavo::query
