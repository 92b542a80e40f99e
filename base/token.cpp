#include "base/token.h"

#include <cstdint>

#include "base/encoding.h"
#include "base/fnv.h"

namespace octavo {

namespace {

std::string checksum_of(std::string bytes, std::string_view origin) {
  bytes += origin;
  const std::uint32_t sum = fnv1a_32(bytes);
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(sum >> shift));
  return text;
}

}  // namespace

std::string seal_token(std::string bytes, std::string_view origin) {
  bytes += checksum_of(bytes, origin);
  return crypto::base64url_encode(bytes);
}

std::optional<std::string> open_token(std::string_view text, std::string_view origin) {
  constexpr std::size_t checksum_bytes = 4;
  auto bytes = crypto::base64url_decode(text);
  if (!bytes || bytes->size() < checksum_bytes) return std::nullopt;
  const std::string checksum = bytes->substr(bytes->size() - checksum_bytes);
  bytes->resize(bytes->size() - checksum_bytes);
  if (checksum != checksum_of(*bytes, origin)) return std::nullopt;
  return bytes;
}

}  // namespace octavo
