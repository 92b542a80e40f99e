#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "partitioning/database.h"
#include "query/index/index_manager.h"
#include "storage/long_key_tree.h"
#include "storage/physical_partition.h"

namespace octavo::query {

/// Walks the entries of one index within a query's scope: a logical partition for a local index, all for a global one.
/// Holds a snapshot: for one slice of work, on one thread, never across a co_await. Keys come without the local prefix.
class IndexReader {
 public:
  /// Errors: no_usable_index when a local index is not there any more, or not complete.
  static Expected<IndexReader> open(partitioning::Database& database, const IndexView& index,
                                    std::string_view partition_key);
  IndexReader(IndexReader&&) = default;
  IndexReader& operator=(IndexReader&&) = delete;

  /// First entry with key >= `key`.
  std::optional<storage::KeyValue> seek(std::string_view key);
  /// Last entry with key < `key`.
  std::optional<storage::KeyValue> seek_before(std::string_view key);
  std::optional<storage::KeyValue> next() { return strip(cursor_->next()); }
  std::optional<storage::KeyValue> previous() { return strip(cursor_->previous()); }

  /// Local indexes: the documents as of the entries. nullptr for global ones.
  const storage::Snapshot* documents() const { return snapshot_ ? &*snapshot_ : nullptr; }

 private:
  IndexReader() = default;
  std::optional<storage::KeyValue> strip(std::optional<storage::KeyValue> row) const;

  std::optional<storage::Snapshot> snapshot_;            // local
  std::optional<storage::ReadTransaction> transaction_;  // global
  std::string prefix_;
  std::string sought_;
  std::optional<storage::LongKeyCursor> cursor_;  // ends before what it reads
};

}  // namespace octavo::query
