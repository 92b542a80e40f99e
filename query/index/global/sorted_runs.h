#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// Sorts more key-value pairs than fit in memory: fills a buffer, writes it to disk as a sorted run, and merges the
/// runs at the end. Data that fits in one buffer is never written. Keys must be unique. One thread at a time.
///
/// The files `run-<n>` lie in `folder` and are removed with this object.
///
/// Format (sorted run of an index build):
///   run := (key_size:varint value_size:varint key value)*
class SortedRuns {
 public:
  SortedRuns(std::filesystem::path folder, std::size_t buffer_bytes_max);
  ~SortedRuns();

  void add(std::string_view key, std::string_view value);
  bool full() const { return bytes_.size() + rows_.size() * sizeof(Row) >= buffer_bytes_max_; }
  std::size_t row_count() const { return row_count_; }
  /// Writes the buffer to a run. Errors: disk_full, io_failure.
  Expected<void> spill();

  /// Must be called after the last add(): prepares the merge.
  Expected<void> finish();
  /// The next row in key order; nullopt at the end, or after an error, which error() then returns. The views live until
  /// the next call.
  std::optional<storage::KeyValue> next();
  const std::optional<Error>& error() const { return error_; }

 private:
  struct Row {
    std::size_t offset;
    std::uint32_t key_size;
    std::uint32_t value_size;
  };
  class Reader;
  std::string_view key_of(const Row& row) const { return {bytes_.data() + row.offset, row.key_size}; }
  void sort_buffer();

  std::filesystem::path folder_;
  std::size_t buffer_bytes_max_;
  std::string bytes_;
  std::vector<Row> rows_;
  std::size_t row_count_ = 0;
  std::vector<std::filesystem::path> files_;
  std::vector<std::unique_ptr<Reader>> readers_;  ///< a heap by current key while merging
  Reader* taken_ = nullptr;                       ///< the reader of the last returned row
  std::size_t buffer_position_ = 0;
  std::optional<Error> error_;
};

}  // namespace octavo::query
