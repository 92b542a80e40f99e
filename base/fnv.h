#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

/// FNV-1a (Fowler, Noll, Vo). Detects accidents and spreads keys; not for untrusted input that could aim at collisions.
/// `hash` is the result for the text before this one.
constexpr std::uint64_t fnv1a_64(std::string_view text, std::uint64_t hash = 0xcbf29ce484222325ULL) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

constexpr std::uint32_t fnv1a_32(std::string_view text, std::uint32_t hash = 0x811c9dc5U) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193U;
  return hash;
}

}  // namespace octavo
