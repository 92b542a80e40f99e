#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "partitioning/database.h"
#include "query/index/catalog/index_catalog.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/partition/snapshot.h"

namespace octavo::query {

/// The part of a database that a query reads.
struct IndexScope {
  std::string_view partition_key;           ///< one logical partition; empty: all of them
  std::optional<std::size_t> partition_id;  ///< one physical partition
};

/// Walks the entries of one index within a query's scope: a logical partition for a local index, everything for a
/// global one, either for an automatic one, whose entries in several physical partitions it merges. Holds snapshots:
/// for one slice of work, on one thread, never across a co_await. Keys are returned without the local prefix.
class IndexReader {
 public:
  /// Errors: no_usable_index if a local index no longer exists or is not complete.
  static Expected<IndexReader> open(partitioning::Database& database, const IndexView& index, const IndexScope& scope);
  IndexReader(IndexReader&&) = default;
  IndexReader& operator=(IndexReader&&) = delete;

  /// First entry with key >= `key`.
  std::optional<storage::KeyValue> seek(std::string_view key);
  /// Last entry with key < `key`.
  std::optional<storage::KeyValue> seek_before(std::string_view key);
  std::optional<storage::KeyValue> next() { return step(false); }
  std::optional<storage::KeyValue> previous() { return step(true); }

  /// For an entry of another logical partition, which can occur only in an automatic index if the query's partition is
  /// small: a key from which to continue (with `seek`, or with `seek_before` when walking down) without missing any
  /// entry of the query. nullopt: the entry belongs to the query.
  std::optional<std::string> beyond_others(const storage::KeyValue& entry, bool down) const;

  /// Whether a document has this entry at another path of the same automatic index, in the partition of the last
  /// returned entry. Errors: those of the storage.
  Expected<bool> has_entry(std::uint64_t path, std::string_view key, std::string_view document_id) const;

  /// Number of entries in begin <= key < end, including those of other logical partitions if has_others(). nullopt:
  /// unknown.
  std::optional<storage::RowsEstimate> range_size(std::string_view begin, std::string_view end,
                                                  storage::Closeness closeness) const;
  /// Whether entries of other logical partitions are among the query's (see beyond_others).
  bool has_others() const { return !among_others_.empty(); }

  /// The sources of entries: the index itself if it is global, and otherwise its part in each physical partition.
  std::size_t source_count() const { return sources_.size(); }
  /// The source of the last returned entry.
  std::size_t current_source() const { return current_; }
  /// The documents as of the entries of a source; nullptr if the index is global, whose entries follow the documents.
  const storage::Snapshot* documents(std::size_t source) const {
    OCTAVO_ASSERT(source < sources_.size());
    const auto& snapshot = sources_[source]->snapshot;
    return snapshot ? &*snapshot : nullptr;
  }
  /// A document whose last change is not later than this has exactly the entries that are read here, if it is read in
  /// documents(current_source()), or else after the reader was opened.
  storage::Sequence exact_through() const { return exact_through_; }

 private:
  struct Source {
    std::optional<storage::Snapshot> snapshot;            // local
    std::optional<storage::ReadTransaction> transaction;  // global
    storage::Tree tree;                                   // global
    std::string prefix;
    std::optional<storage::LongKeyCursor> cursor;  // destroyed before what it reads
    std::optional<storage::KeyValue> row;          // its present entry

    std::optional<storage::KeyValue> strip(std::optional<storage::KeyValue> found) const;
  };
  IndexReader() = default;
  Expected<void> add_local(partitioning::Database& database, const IndexView& index, std::size_t partition_id,
                           std::string_view partition_key);
  std::optional<storage::KeyValue> step(bool down);
  std::optional<storage::KeyValue> choose(bool down);

  std::vector<std::unique_ptr<Source>> sources_;
  storage::Sequence exact_through_ = std::numeric_limits<storage::Sequence>::max();
  std::size_t current_ = 0;
  std::string among_others_;  ///< prefix of the query's ids, if others' entries are among them
  std::string sought_;
};

}  // namespace octavo::query
