#pragma once

#include <cstdint>

namespace octavo::storage {

/// Address space for the maps of all stores of the process. Maps are reserved much larger than their files, so
/// that they hardly ever have to grow, as growing needs exclusive access to the store. Only address space is
/// reserved, neither memory nor disk.

/// Bytes to reserve for a map, at least `needed`: 64 GiB or four times the file, less if much is reserved already;
/// `needed` if the process's address space is limited (RLIMIT_AS). O(1).
std::uint64_t map_bytes_to_reserve(std::uint64_t file_bytes, std::uint64_t needed);

/// Count the bytes that maps reserve and release.
void take_address_space(std::uint64_t bytes);
void return_address_space(std::uint64_t bytes);

}  // namespace octavo::storage
