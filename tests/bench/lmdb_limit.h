#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace octavo::bench {

/// The limit for writes: bare LMDB that puts the same bytes into two trees (documents by id, feed by sequence) which
/// already hold as many documents as the server's: a tree's size decides how many of its pages a write changes.
class LmdbWriteLimit {
 public:
  /// Fills the trees, without fsync until the end. `folder` is made, and removed by the destructor.
  LmdbWriteLimit(const std::filesystem::path& folder, std::string body, std::uint64_t documents);
  ~LmdbWriteLimit();

  /// Documents per second at random ids, `batch` of them in each fsynced transaction.
  double per_second(unsigned batch, std::chrono::milliseconds duration);

 private:
  struct Trees;
  std::unique_ptr<Trees> trees_;
  std::string body_;
  std::uint64_t documents_ = 0;
};

/// The limit for an index build: bare LMDB that reads `documents` documents in key order, sorts one index entry for
/// each in memory and appends them, 10,000 in an fsynced transaction. Returns documents per second. `folder` is made
/// and removed.
double lmdb_index_build_per_second(const std::filesystem::path& folder, const std::string& body,
                                   std::uint64_t documents);

}  // namespace octavo::bench
