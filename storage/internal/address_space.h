#pragma once

#include <cstdint>

namespace octavo::storage {

/// Address space for the maps of all environments of the process. Maps are reserved much larger than their files, so
/// that hardly any ever has to grow: growing needs the environment without readers. Only address space is reserved:
/// neither memory nor disk.

/// How large a map to ask for, at least `needed`. 64 GiB or four times the file, less when much is reserved already.
/// `needed` where the process may not have much (RLIMIT_AS). O(1).
std::uint64_t map_bytes_to_reserve(std::uint64_t file_bytes, std::uint64_t needed);

/// Counts what maps take and give back.
void take_address_space(std::uint64_t bytes);
void return_address_space(std::uint64_t bytes);

}  // namespace octavo::storage
