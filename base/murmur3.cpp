#include "base/murmur3.h"

#include <bit>
#include <cstring>

namespace octavo {
namespace {

constexpr std::uint64_t multiplier_1 = 0x87c37b91114253d5ULL;
constexpr std::uint64_t multiplier_2 = 0x4cf5ad432745937fULL;

std::uint64_t mix_low(std::uint64_t k) {
  return std::rotl(k * multiplier_1, 31) * multiplier_2;
}
std::uint64_t mix_high(std::uint64_t k) {
  return std::rotl(k * multiplier_2, 33) * multiplier_1;
}

std::uint64_t finish(std::uint64_t k) {
  k = (k ^ (k >> 33)) * 0xff51afd7ed558ccdULL;
  k = (k ^ (k >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return k ^ (k >> 33);
}

std::uint64_t load(std::string_view bytes) {
  std::uint64_t value = 0;
  std::memcpy(&value, bytes.data(), bytes.size());  // little endian; a short tail is zero-extended
  return value;
}

}  // namespace

Hash128 murmur3_x64_128(std::string_view bytes) {
  static_assert(std::endian::native == std::endian::little);
  std::uint64_t h1 = 0;
  std::uint64_t h2 = 0;
  std::string_view rest = bytes;
  for (; rest.size() >= 16; rest.remove_prefix(16)) {
    h1 = (std::rotl(h1 ^ mix_low(load(rest.substr(0, 8))), 27) + h2) * 5 + 0x52dce729;
    h2 = (std::rotl(h2 ^ mix_high(load(rest.substr(8, 8))), 31) + h1) * 5 + 0x38495ab5;
  }
  if (rest.size() > 8) h2 ^= mix_high(load(rest.substr(8)));
  if (!rest.empty()) h1 ^= mix_low(load(rest.substr(0, 8)));
  h1 ^= bytes.size();
  h2 ^= bytes.size();
  h1 += h2;
  h2 += h1;
  h1 = finish(h1);
  h2 = finish(h2);
  h1 += h2;
  h2 += h1;
  return {h1, h2};
}

std::uint32_t murmur3_x86_32(std::string_view bytes) {
  const auto mix = [](std::uint32_t k) { return std::rotl(k * 0xcc9e2d51U, 15) * 0x1b873593U; };
  std::uint32_t h = 0;
  std::string_view rest = bytes;
  for (; rest.size() >= 4; rest.remove_prefix(4)) {
    h = std::rotl(h ^ mix(static_cast<std::uint32_t>(load(rest.substr(0, 4)))), 13) * 5 + 0xe6546b64U;
  }
  if (!rest.empty()) h ^= mix(static_cast<std::uint32_t>(load(rest)));
  h ^= static_cast<std::uint32_t>(bytes.size());
  h = (h ^ (h >> 16)) * 0x85ebca6bU;
  h = (h ^ (h >> 13)) * 0xc2b2ae35U;
  return h ^ (h >> 16);
}

}  // namespace octavo
