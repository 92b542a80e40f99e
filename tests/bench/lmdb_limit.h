#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>

namespace octavo::bench {

/// The limit for writes: bare LMDB that puts the same bytes into two trees (documents by id, feed by sequence), with
/// `batch` documents in each fsynced transaction. Returns documents per second. `folder` is made and removed.
double lmdb_writes_per_second(const std::filesystem::path& folder, const std::string& body, unsigned batch,
                              std::chrono::milliseconds duration);

/// The limit for an index build: bare LMDB that reads `documents` documents in key order, sorts one index entry for
/// each in memory and appends them, 10,000 in an fsynced transaction. Returns documents per second. `folder` is made
/// and removed.
double lmdb_index_build_per_second(const std::filesystem::path& folder, const std::string& body,
                                   std::uint64_t documents);

}  // namespace octavo::bench
