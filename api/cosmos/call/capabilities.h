#pragma once

#include <charconv>
#include <cstdint>
#include <string_view>

#include "api/http/request.h"

namespace octavo::api::cosmos {

/// Whether the client continues correctly in a partition key range into which two were merged: it asks for the part
/// that it has not read. Others would read all of it once for each.
inline bool knows_merges(const Request& request) {
  constexpr std::uint32_t merges = 1;
  const auto text = request.header("x-ms-cosmos-sdk-supportedcapabilities");
  std::uint32_t capabilities = 0;
  if (!text || std::from_chars(text->data(), text->data() + text->size(), capabilities).ec != std::errc{}) return false;
  return (capabilities & merges) != 0;
}

}  // namespace octavo::api::cosmos
