#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/error.h"
#include "base/function_ref.h"
#include "storage/document/document.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// What FeedDocument::json is. The stored body costs less than what functions see: with `_id`, `_rev` and the
/// conflicts. None is for those who read the document themselves: the body is not even opened.
enum class FeedBodies : std::uint8_t { as_functions_see, as_stored, none };

/// The newest state of a document, as given to an index that follows the feed.
struct FeedDocument {
  storage::Sequence sequence = 0;
  std::string id;
  std::string partition_key;  ///< empty in databases without partitions
  bool present = false;       ///< live; otherwise all its entries must be removed
  storage::Revision revision;
  std::int64_t modified_s = 0;
  std::uint32_t owner = 0;  ///< as storage::DocumentHead::owner
  /// As FeedConsumer::bodies() says; empty if not present.
  std::string json;
};

/// Changes of the feed, as given to an index.
struct FeedChanges {
  /// Each document at most once, in the order of the feed; those whose row is beyond `reached` come last.
  std::span<const FeedDocument> documents;
  storage::Sequence from = 0;     ///< checkpoint of the index when they were read
  storage::Sequence reached = 0;  ///< all changes of the feed up to here are included
  bool complete = false;          ///< after these changes no entry is older than `reached`
  bool alone = false;             ///< only the calling thread may work on them: the other threads are for other indexes
  storage::Sequence dropped_through = 0;  ///< tombstones up to here may be missing: see knows_deletions_through
  std::uint64_t purge_count = 0;          ///< the consumer's when they were read

  /// The checkpoint after the first `count` of the documents.
  storage::Sequence checkpoint_after(std::size_t count) const {
    OCTAVO_ASSERT(count <= documents.size());
    if (count == documents.size()) return reached;
    return count == 0 ? from : std::min(documents[count - 1].sequence, reached);
  }
};

/// Documents that were purged, for a consumer that would otherwise look for them among all that it contains.
struct KnownPurges {
  std::vector<std::string> gone;  ///< those purged after `since` that do not exist now
  storage::Sequence since = 0;    ///< the consumer's checkpoint before they were read
  std::uint64_t purge_count = 0;  ///< of the database; these are all purges up to it
};

/// Documents that are gone without a row in the feed, as a consumer looks for them among all that it contains: those
/// that were purged, and those whose tombstones were dropped.
struct GoneDocuments {
  std::uint64_t purge_count = 0;          ///< of the database
  storage::Sequence dropped_through = 0;  ///< tombstones up to here may have been dropped
  storage::Sequence watermark = 0;        ///< `is_gone` knows every change up to here; read before the numbers above
  /// Whether an id no longer has a live document.
  FunctionRef<Expected<bool>(std::string_view id)> is_gone;
};

/// What follows the feed of a database: an index, or several that read each document together. FeedFollower
/// (feed_follower.h) gives it the changes.
///
/// Its state may be read from any thread; the functions that change it are called by one thread at a time.
class FeedConsumer {
 public:
  virtual ~FeedConsumer() = default;

  /// The feed is applied up to this sequence; durable, or as the durability setting says.
  virtual storage::Sequence checkpoint() const = 0;
  /// Every entry reflects a state of its document not older than this (see GlobalIndex::complete_through).
  virtual storage::Sequence complete_through() const = 0;
  /// The purge count of the database up to which purged documents have been removed.
  virtual std::uint64_t purge_count() const = 0;
  /// It contains no document whose last change up to this sequence was a deletion, so it does not need those
  /// tombstones: the checkpoint, or the watermark at which remove_purged() began to look, if that is later. Only for
  /// the thread that changes the consumer.
  virtual storage::Sequence knows_deletions_through() const = 0;

  virtual FeedBodies bodies() const { return FeedBodies::as_functions_see; }
  /// Replaces the entries of the first of these documents, and stores the checkpoint with them. Takes as many as it can
  /// in about `apply_time` and in bounded memory, but at least one, and returns their number: the rest must be given
  /// again. May run functions, and may spread them over other threads. After an error the entries are unchanged, or at
  /// an earlier checkpoint. Precondition: knows_deletions_through() is not below `changes.dropped_through`.
  virtual Expected<std::size_t> apply(const FeedChanges& changes) = 0;
  /// Long enough for commits to cost little beside the functions; short enough that other indexes get their turn.
  static constexpr std::chrono::milliseconds apply_time{500};
  /// Removes these documents, and stores the purge count with that. False if it cannot, because its checkpoint went
  /// back: remove_purged() is called then.
  virtual Expected<bool> remove_known(const KnownPurges& purges) {
    static_cast<void>(purges);
    return false;
  }
  /// See GlobalIndex::remove_purged.
  virtual Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) = 0;
};

/// An index in separate files whose entries JavaScript decides: a group of views (query/view) or a search index
/// (query/search). Follows the database's feed: a write is included some milliseconds later, and a query waits for the
/// rest. FeedIndexes (feed_indexes.h) opens it, feeds it, and removes it when nothing defines it any more.
///
/// Functions may be slow, so unlike Mango's local indexes these are not part of the document's transaction, where they
/// would delay all writers. The checkpoint is stored with the entries, so a crash repeats a little and loses nothing:
/// applying a document twice must be harmless.
///
/// Reads from any thread at any time.
class FeedIndex : public FeedConsumer {
 public:
  /// Hexadecimal hash of everything that decides the entries; names the folder.
  virtual const std::string& identity() const = 0;
  /// Opens or creates the files. `last_sequence`: the database's at its opening; an index whose checkpoint is beyond it
  /// belongs to a different past and starts empty.
  virtual Expected<void> open(storage::Sequence last_sequence) = 0;

  /// Files that can be closed while they are not being read (partitioning::DatabaseExtension).
  virtual std::size_t open_store_count() const = 0;
  virtual std::uint64_t last_used_ms() const = 0;
  virtual std::size_t close_idle(std::uint64_t last_used_before_ms) = 0;

  /// The store with all rows, for its compaction. nullptr: the index has other files, and compact() is called.
  virtual storage::Store* store() { return nullptr; }
  /// Removes from the files what changes and deletions have left there. Blocks, but not for long once `stopped` is
  /// true. At the same time as all other functions. Errors: timeout: it was stopped; those of the disk.
  virtual Expected<void> compact(const std::function<bool()>& /*stopped*/) { return {}; }
  /// Bytes of the files; used without a store().
  virtual std::uint64_t file_bytes() const { return 0; }
  /// How much of them a compaction would keep, without the length of the rows. nullopt: the files are not open, or in
  /// use.
  virtual std::optional<storage::Density> density() { return std::nullopt; }

  /// Removes the files. There must be no more readers.
  virtual void remove_files() = 0;
};

}  // namespace octavo::query
