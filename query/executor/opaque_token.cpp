#include "query/executor/opaque_token.h"

#include "query/executor/base64url.h"

namespace octavo::query {

std::string seal_token(std::string bytes) {
  const std::uint32_t sum = checksum_of(bytes);
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(sum >> shift));
  return to_base64url(bytes);
}

std::optional<std::string> open_token(std::string_view text) {
  auto bytes = from_base64url(text);
  if (!bytes || bytes->size() < 4) return std::nullopt;
  const std::string_view body = std::string_view(*bytes).substr(0, bytes->size() - 4);
  std::uint32_t sum = 0;
  for (const char byte : std::string_view(*bytes).substr(body.size())) {
    sum = sum << 8 | static_cast<unsigned char>(byte);
  }
  if (sum != checksum_of(body)) return std::nullopt;
  bytes->resize(body.size());
  return bytes;
}

}  // namespace octavo::query
