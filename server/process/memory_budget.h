#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "config/settings.h"

namespace octavo::server {

/// Lowers settings so that the server fits into `memory_bytes`, the memory that the process may use, and a burst is
/// refused before the system ends the process:
///   - all JavaScript heaps together may take a half; worker_threads is lowered if they cannot be small enough
///     otherwise;
///   - writes that wait for the disk (storage.queued_bytes_max) and the sort of one query (query.sort_bytes_max) may
///     each take an eighth.
/// Changes nothing if there is enough memory for the settings. True if a setting was lowered.
bool fit_to_memory(config::Settings& settings, std::uint64_t memory_bytes);

/// Limit of all large request bodies together, and of all unsent replies together: a quarter of the memory each, and at
/// most 1 GiB.
std::uint64_t buffered_bytes_max(std::uint64_t memory_bytes);

struct BodyLimit {
  std::size_t bytes = 0;
  std::string_view origin;  ///< for messages: the setting, or the memory
};

/// The longest request body: what the settings say, but never more than a half of `buffered_bytes_max`, so that two
/// such bodies fit. The setting itself is not lowered: programs made for CouchDB set 4 GiB and read it back.
BodyLimit body_limit(const config::Settings& settings, std::uint64_t buffered_bytes_max);

}  // namespace octavo::server
