#pragma once

#include <cstdint>
#include <string_view>

namespace octavo {

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// MurmurHash3 x64-128 (Austin Appleby, public domain), seed 0: the hash of Azure Cosmos DB's partition keys.
Hash128 murmur3_x64_128(std::string_view bytes);

/// MurmurHash3 x86-32, seed 0: the hash of Azure Cosmos DB's version-1 partition keys.
std::uint32_t murmur3_x86_32(std::string_view bytes);

}  // namespace octavo
