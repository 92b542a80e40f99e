#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/database.h"
#include "query/index/index_manager.h"
#include "storage/long_key_tree.h"
#include "storage/physical_partition.h"
#include "storage/tree_size.h"

namespace octavo::query {

/// Which part of a database a query is about.
struct IndexScope {
  std::string_view partition_key;    ///< one logical partition; empty: all of them
  std::optional<std::size_t> place;  ///< one physical partition
};

/// Walks the entries of one index within a query's scope: a logical partition for a local index, all for a global one,
/// either for an automatic one, whose entries in several physical partitions it merges. Holds snapshots: for one slice
/// of work, on one thread, never across a co_await. Keys come without the local prefix.
class IndexReader {
 public:
  /// Errors: no_usable_index when a local index is not there any more, or not complete.
  static Expected<IndexReader> open(partitioning::Database& database, const IndexView& index, const IndexScope& scope);
  IndexReader(IndexReader&&) = default;
  IndexReader& operator=(IndexReader&&) = delete;

  /// First entry with key >= `key`.
  std::optional<storage::KeyValue> seek(std::string_view key);
  /// Last entry with key < `key`.
  std::optional<storage::KeyValue> seek_before(std::string_view key);
  std::optional<storage::KeyValue> next() { return step(false); }
  std::optional<storage::KeyValue> previous() { return step(true); }

  /// For an entry of a logical partition that is not the query's, which only a small one's entries in an automatic
  /// index stand among: a key from which to go on (`seek`, or walking down `seek_before`) without missing any of the
  /// query's. nullopt: the entry is the query's.
  std::optional<std::string> beyond_others(const storage::KeyValue& entry, bool down) const;

  /// Whether a document has this entry at another path of the same automatic index, where that of the entry is which
  /// was handed out last. Errors: those of the storage.
  Expected<bool> has_entry(std::uint64_t path, std::string_view key, std::string_view document_id) const;

  /// How many entries lie in begin <= key < end, of others too where there are any among them. nullopt: it cannot be
  /// told.
  std::optional<storage::RangeSize> range_size(std::string_view begin, std::string_view end, unsigned samples) const;
  /// Whether entries of other logical partitions stand among the query's (beyond_others).
  bool has_others() const { return !among_others_.empty(); }

  /// The documents as of the entries, when these are all in one physical partition. nullptr otherwise.
  const storage::Snapshot* documents() const {
    return sources_.size() == 1 && sources_[0]->snapshot ? &*sources_[0]->snapshot : nullptr;
  }

 private:
  struct Source {
    std::optional<storage::Snapshot> snapshot;            // local
    std::optional<storage::ReadTransaction> transaction;  // global
    std::string_view tree;                                // its name
    std::string prefix;
    std::optional<storage::LongKeyCursor> cursor;  // ends before what it reads
    std::optional<storage::KeyValue> row;          // where it stands

    std::optional<storage::KeyValue> strip(std::optional<storage::KeyValue> found) const;
  };
  IndexReader() = default;
  Expected<void> add_local(partitioning::Database& database, const IndexView& index, std::size_t place,
                           std::string_view partition_key);
  std::optional<storage::KeyValue> step(bool down);
  std::optional<storage::KeyValue> choose(bool down);

  std::vector<std::unique_ptr<Source>> sources_;
  std::size_t current_ = 0;
  std::string among_others_;  ///< beginning of the ids wanted, when others' entries are among them
  std::string sought_;
};

}  // namespace octavo::query
