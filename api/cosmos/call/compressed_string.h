#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::api::cosmos {

/// Whether binary JSON has a string in a compressed form after this type byte.
bool is_compressed_string(unsigned char type);

struct DecompressedString {
  std::string text;
  std::size_t bytes_used = 0;  ///< of the bytes after the type
};
/// The string at the beginning of `bytes`, which follow the type byte; its text has at most three times the bytes that
/// it uses. nullopt: there are too few, or no string has its size. Precondition: is_compressed_string(type).
std::optional<DecompressedString> decompress(unsigned char type, std::string_view bytes);

}  // namespace octavo::api::cosmos
