#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.h"
#include "query/follow/feed_index.h"
#include "query/follow/purge_scan.h"
#include "query/index/index_definition.h"
#include "storage/document/sequence_allocator.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// A global index: the entries of a whole database in the order of their values, in a separate store, so
/// that a query of the whole database reads one sorted range and does not fan out.
///
/// Format (trees of a global index):
///   entries      entry key                → entry value                              (index_entry.h)
///   by_document  document id              → field keys of its entry, as they stand in `entries`
///   meta         "state"                  → version:u8 stage:u8 checkpoint:u64 purge_count:u64 entry_count:u64
///   long         rows of long keys of the other trees (long_key_tree)
///
/// Older versions wrote no entry_count: such an index is counted when it is opened.
///
/// The index follows the database's feed. `checkpoint`, the sequence up to which the feed was applied, is written in
/// the same transaction as the entries, so after a crash the index continues exactly where its entries are. A change
/// may be applied twice, as by_document tells which entry a document has.
///
/// Durability is `relaxed` (MDB_NOMETASYNC) at most: a power failure may lose the last transactions of the index, whose
/// changes are then read from the feed again, because the feed is durable before the index reads it. Relaxed saves one
/// sync per transaction. If the *database* itself, which may also run relaxed, has lost commits that the index had
/// applied, the checkpoint is beyond the database's last sequence and the index is built again.
///
/// Reads from any thread; the caller must make changes from one thread at a time.
class GlobalIndex {
 public:
  enum class Stage : std::uint8_t { building, ready };

  struct Options {
    std::filesystem::path folder;
    config::Durability durability = config::Durability::commit;
    storage::FaultInjector* faults = nullptr;  ///< for tests only
  };

  GlobalIndex(IndexDefinitionPtr definition, Options options);
  /// Opens or creates the files. `last_sequence`: the database's at its opening. Empties an index that was not built
  /// completely, or whose checkpoint is not in this database's past; it will be `building`.
  Expected<void> open(storage::Sequence last_sequence);

  const IndexDefinition& definition() const { return *definition_; }
  bool ready() const { return stage_.load(std::memory_order_acquire) == Stage::ready; }
  storage::Sequence checkpoint() const { return checkpoint_.load(std::memory_order_acquire); }
  /// Every entry reflects a state of its document not older than this sequence. It is behind the checkpoint while the
  /// index catches up in several steps: the row of a document that was written again meanwhile is later in the feed, so
  /// its entry may be older than the checkpoint.
  storage::Sequence complete_through() const { return complete_through_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const { return purge_count_.load(std::memory_order_acquire); }
  /// See FeedConsumer::knows_deletions_through.
  storage::Sequence knows_deletions_through() const { return std::max(checkpoint(), purge_scan_.scanned_through()); }

  Expected<storage::ReadTransaction> read() { return store_.read(); }
  storage::Store& store() { return store_; }
  storage::Tree entries() const { return store_.tree(0); }
  /// Number of entries, as of the last change; 0 while the index is being built. Reads nothing.
  std::uint64_t entry_count() const { return entry_count_.load(std::memory_order_acquire); }
  /// The same in `transaction`, from its state row.
  Expected<std::uint64_t> entry_count(const storage::Transaction& transaction) const;

  /// The newest state of a document, as found in the feed.
  struct Change {
    storage::Sequence sequence = 0;
    std::string id;
    bool present = false;  ///< has an entry: live, and matches the filter
    std::string key;       ///< entry key: field keys and id
    std::string value;
  };
  /// False for an index that became ready after `changes` were read, if they may lack earlier changes or deletions that
  /// it does not know, or have documents that were purged before it read them. With the next changes that is over.
  bool can_follow_with(const FeedChanges& changes) const;
  /// Applies the changes of the feed up to `checkpoint`, in one transaction; later changes may be included, and will
  /// come again. Changes at or below the present checkpoint are skipped. `complete`: after these changes no entry is
  /// older than `checkpoint`. `dropped_through`: as FeedChanges.
  Expected<void> apply(std::span<const Change> changes, storage::Sequence checkpoint, bool complete,
                       storage::Sequence dropped_through = 0);

  /// Removes these documents. False: as FeedConsumer::remove_known.
  Expected<bool> remove_known(const KnownPurges& purges);
  /// Purged documents leave no trace in the feed, nor do dropped tombstones. When the database's purge count has
  /// changed, or the index has not read the feed up to such a tombstone, this checks the ids in the index, a bounded
  /// number per call. True once all were checked: purge_count() is then the count at the first of the calls, and
  /// knows_deletions_through() at least the watermark.
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max);

  // For building (global_index_builder.h).
  /// Empties the index, which must not have readers.
  Expected<void> begin_build();
  Expected<void> write(std::size_t expected_bytes, FunctionRef<Expected<void>(storage::WriteTransaction&)> body) {
    return store_.write(expected_bytes, body);
  }
  storage::Tree by_document() const { return store_.tree(1); }
  /// `entry_count`: how many entries were written since begin_build().
  Expected<void> end_build(storage::Sequence checkpoint, std::uint64_t purge_count, std::uint64_t entry_count);
  const std::filesystem::path& folder() const { return options_.folder; }

  /// Removes the files. There must be no more readers.
  void remove_files();

 private:
  /// The row of the tree `meta`.
  struct State {
    std::uint8_t version = 0;
    Stage stage = Stage::building;
    storage::Sequence checkpoint = 0;
    std::uint64_t purge_count = 0;
    std::optional<std::uint64_t> entry_count;

    bool is_ready() const;
  };
  /// nullopt: no state was ever stored. A damaged row has version 0.
  Expected<std::optional<State>> state(const storage::Transaction& transaction) const;
  Expected<void> put_state(storage::WriteTransaction& transaction, Stage stage, storage::Sequence checkpoint,
                           std::uint64_t purge_count, std::uint64_t entry_count) const;
  Expected<void> remove(std::span<const std::string> gone, std::uint64_t purge_count);
  Expected<bool> has_effect(const Change& change, const storage::ReadTransaction& transaction) const;
  /// Adjusts `entry_count` if the document gets its first entry or loses it.
  Expected<void> put(storage::WriteTransaction& transaction, const Change& change, std::uint64_t& entry_count) const;

  IndexDefinitionPtr definition_;
  Options options_;
  storage::Store store_;
  std::atomic<Stage> stage_{Stage::building};
  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  std::atomic<std::uint64_t> entry_count_{0};
  bool empty_ = false;                       ///< the files were created by open(), and no build has begun
  storage::Sequence stored_checkpoint_ = 0;  ///< on disk; checkpoint_ may be ahead if there was nothing to write
  PurgeScan purge_scan_;
};

/// Writes rows in ascending key order into a tree without greater keys: fast, and leaves full pages.
Expected<void> append_sorted(storage::WriteTransaction& transaction, storage::Tree tree, std::string_view key,
                             std::string_view value);

}  // namespace octavo::query
