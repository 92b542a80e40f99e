#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "partitioning/database.h"
#include "query/index/catalog/index_catalog.h"
#include "query/plan/key_range.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/partition/snapshot.h"

namespace octavo::query {

/// The rows of a tree with one prefix, as entries without it, and of these the ones in begin <= entry < end. What the
/// cursor reads must outlive this.
class EntryRange {
 public:
  /// `end` empty: up to the last entry.
  EntryRange(std::string prefix, storage::LongKeyCursor cursor, std::string begin = {}, std::string end = {})
      : prefix_(std::move(prefix)), begin_(std::move(begin)), end_(std::move(end)), cursor_(std::move(cursor)) {}

  const std::string& prefix() const { return prefix_; }
  /// The part of begin <= entry < end that is in this range, as keys of rows.
  KeyRange rows(std::string_view begin, std::string_view end) const {
    return {prefix_ + std::string(std::max(begin, std::string_view(begin_))), prefix_ + std::string(before_end(end))};
  }

  /// The first entry from `key` on.
  std::optional<storage::KeyValue> seek(std::string_view key) {
    sought_.assign(prefix_).append(std::max(key, std::string_view(begin_)));
    return strip(cursor_.seek(sought_));
  }
  /// The last entry below `key`.
  std::optional<storage::KeyValue> seek_before(std::string_view key) {
    sought_.assign(prefix_).append(before_end(key));
    auto row = cursor_.seek_back(sought_);
    if (row && row->key == sought_) row = cursor_.previous();
    return strip(row);
  }
  std::optional<storage::KeyValue> next() { return strip(cursor_.next()); }
  std::optional<storage::KeyValue> previous() { return strip(cursor_.previous()); }

 private:
  std::string_view before_end(std::string_view key) const {
    return end_.empty() ? key : std::min(key, std::string_view(end_));
  }
  std::optional<storage::KeyValue> strip(std::optional<storage::KeyValue> found) const {
    if (!found || !found->key.starts_with(prefix_)) return std::nullopt;
    found->key.remove_prefix(prefix_.size());
    const bool is_within = found->key >= begin_ && (end_.empty() || found->key < end_);
    return is_within ? found : std::nullopt;
  }

  std::string prefix_;
  std::string begin_;
  std::string end_;
  storage::LongKeyCursor cursor_;
  std::string sought_;
};

/// The part of a database that a query reads.
struct IndexScope {
  std::string_view partition_key;           ///< one logical partition; empty: all of them
  std::optional<std::size_t> partition_id;  ///< one physical partition
};

/// Walks the entries of one index within a query's scope: a logical partition for a local index, everything for a
/// global one, either for an automatic one, whose entries in several physical partitions it merges. Entries of an
/// absence index (IndexDefinition::absence) come before those of its path. Holds snapshots: for one slice of work, on
/// one thread, never across a co_await. Keys are returned without the local prefix.
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
    std::optional<EntryRange> entries;                    // destroyed before what it reads
    std::optional<EntryRange> absences;                   // below all of `entries`
    bool is_absent = false;                               // the present entry is one of them
    std::optional<storage::KeyValue> row;                 // its present entry

    void seek(std::string_view key);
    void seek_before(std::string_view key);
    void step(bool down);
  };
  IndexReader() = default;
  static Expected<std::uint32_t> find_number(const storage::Snapshot& snapshot, std::span<const std::uint32_t> numbers,
                                             std::size_t partition_id, const IndexDefinition& index);
  static EntryRange absences_in(const storage::Snapshot& snapshot, std::uint32_t number, std::uint64_t path,
                                std::string_view partition_key);
  Expected<void> add_local(partitioning::Database& database, const IndexView& index, std::size_t partition_id,
                           std::string_view partition_key);
  std::optional<storage::KeyValue> step(bool down);
  std::optional<storage::KeyValue> choose(bool down);

  std::vector<std::unique_ptr<Source>> sources_;
  storage::Sequence exact_through_ = std::numeric_limits<storage::Sequence>::max();
  std::size_t current_ = 0;
  std::string among_others_;  ///< prefix of the query's ids, if others' entries are among them
};

}  // namespace octavo::query
