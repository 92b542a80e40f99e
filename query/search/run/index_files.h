#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/function_ref.h"
#include "query/follow/feed_index_kind.h"
#include "query/search/documents/document_builder.h"
#include "query/search/lucene/background_merges.h"
#include "query/search/lucene/lucene_directory.h"
#include "query/search/run/columns.h"
#include "query/search/run/index_snapshot.h"

namespace octavo::query::search {

/// The progress of an index. Stored in Lucene's commits as text.
///
/// Format (commit data of a search index):
///   "checkpoint"  the sequence up to which the feed was applied, as decimal digits
///   "purges"      the number of purges applied, likewise
///   "ordinal"     the ordinal of the next document added, likewise
///   "scored"      (name as JSON string, line feed)*      fields whose length counts for the score
///
/// Format (file checkpoint of a search index):
///   note := checkpoint in the commit " " later checkpoint " " purges "\n"      decimal digits
struct IndexState {
  storage::Sequence checkpoint = 0;
  std::uint64_t purge_count = 0;
  std::uint64_t next_ordinal = 1;
};

/// The Lucene files of one search index: opens, changes, commits and closes them.
///
/// Changes can be searched immediately, from memory or from files not synced yet. A commit syncs and stores the
/// checkpoint; it is made every few seconds or some ten thousand documents. Changes lost in a crash are read from the
/// feed again. After any error, all changes since the last commit are rolled back: after an exception unknown to
/// Lucene++, such as bad_alloc, a writer waits for itself forever. It is therefore abandoned without access to the
/// files, and a new writer starts from the commit.
///
/// Files that cannot be read are discarded, because the index can be rebuilt from the documents.
class IndexFiles {
 public:
  IndexFiles(FeedIndexOptions options, std::shared_ptr<const FieldAnalyzers> analyzers, const FieldSource& source);
  ~IndexFiles();

  /// Reads the state of existing files; creates the folder. `last_sequence`: as in FeedIndex::open.
  Expected<void> open(storage::Sequence last_sequence);

  storage::Sequence checkpoint() const { return checkpoint_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence committed_checkpoint() const { return committed_checkpoint_.load(std::memory_order_acquire); }

  struct Change {
    const FeedDocument* document = nullptr;
    std::span<const IndexedField> fields;  ///< empty: the document is not in the index
  };
  struct Batch {
    storage::Sequence checkpoint = 0;
    std::uint64_t purge_count = 0;
    bool complete = false;                  ///< as FeedChanges::complete
    bool last = true;                       ///< no other batch follows at once: searches need its changes
    std::uint64_t losses = 0;               ///< losses() before the feed was read for this batch
    storage::Sequence dropped_through = 0;  ///< as FeedChanges::dropped_through
  };
  /// Makes the changes that `next` fills in until it returns false, and stores the state with them. One thread at a
  /// time; searches wait meanwhile, so `next` must be fast. An error rolls back all changes since the last commit,
  /// including those of earlier calls; checkpoint() is then lower. Errors: also overloaded, if changes were rolled back
  /// on which the batch builds.
  Expected<void> apply(FunctionRef<bool(Change&)> next, const Batch& batch);
  /// See FeedIndex::complete_through. 0 after a rollback, until the next complete batch.
  storage::Sequence complete_through() const { return complete_through_.load(std::memory_order_acquire); }
  /// The number of rollbacks.
  std::uint64_t losses() const { return losses_.load(std::memory_order_acquire); }

  /// A snapshot that includes at least the changes up to `at_least`. Opens the files if they are closed.
  Expected<IndexSnapshotPtr> snapshot(storage::Sequence at_least);
  ColumnCache& columns() { return columns_; }
  const LuceneDirectory::LastError& last_error() const { return last_error_; }
  std::uint64_t bytes_on_disk() const;

  bool is_open() const { return open_.load(std::memory_order_relaxed); }
  std::uint64_t last_used_ms() const { return last_used_ms_.load(std::memory_order_relaxed); }
  /// Merges the segments that contain deleted documents, in the background, and removes the old segments. See
  /// FeedIndex::compact.
  Expected<void> compact(const std::function<bool()>& stopped);
  /// Implements FeedIndex::density by the share of documents that are deleted. Commits before, if there is something to
  /// commit: deletions in memory do not count, and the files of merged segments stay until then.
  std::optional<storage::Density> density();
  /// Commits and closes the files, unless they are being read or written. True: they were open and are closed now.
  bool close_if_idle();
  void remove_files();
  /// Discards all files after they were found corrupted; the state is then that of an empty index.
  void discard(const Error& error);

 private:
  std::filesystem::path lucene_folder() const { return options_.folder / "lucene"; }
  // All of these are called under write_mutex_, and those that may throw inside guard_lucene().
  IndexState read_state();
  IndexState read_commit();
  void start_over();
  void open_directory();
  void open_writer();
  void drop_writer();
  void make_change(const Change& change);
  void commit();
  void abandon_writer();
  void give_up(const Error& error);
  void refresh();
  void write_note();
  void adopt(const IndexState& state);
  void take_back();
  void close_files();
  Expected<bool> begin_expunging();
  Expected<bool> end_expunging();
  void touch();

  FeedIndexOptions options_;
  bool durable_;
  const LuceneDirectory::LastError last_error_ = std::make_shared<std::atomic<int>>(0);
  boost::shared_ptr<LuceneDirectory> directory_;  ///< null after a writer was dropped
  DocumentBuilder builder_;
  ColumnCache columns_;

  std::mutex write_mutex_;  ///< guards all up to the next mutex
  Lucene::IndexWriterPtr writer_;
  boost::shared_ptr<BackgroundMerges> merges_;  ///< of writer_, also if that could not be opened
  IndexState pending_;
  std::size_t uncommitted_changes_ = 0;
  std::uint64_t committed_merges_ = 0;  ///< how many merges of merges_ the last commit includes
  std::chrono::steady_clock::time_point committed_at_{};
  storage::Sequence noted_checkpoint_ = 0;   ///< on disk, in Lucene's commit or in the note
  storage::Sequence lucene_checkpoint_ = 0;  ///< in Lucene's last commit
  std::uint64_t changes_ = 0;                ///< made since the start of the process
  std::uint64_t snapshot_changes_ = 0;       ///< the value of changes_ in snapshot_
  /// Hashes of the ids in an index that was empty when it was opened. A document that is not among them is new, so no
  /// older version has to be looked up and removed. Reset when it is no longer useful.
  std::optional<boost::unordered_flat_set<std::uint64_t>> known_ids_;

  mutable std::mutex reader_mutex_;  ///< guards snapshot_
  IndexSnapshotPtr snapshot_;

  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> losses_{0};
  std::atomic<storage::Sequence> committed_checkpoint_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  std::atomic<std::uint64_t> last_used_ms_{0};
  std::atomic<std::uint64_t> last_searched_ms_{0};
  std::atomic<bool> open_{false};
};

}  // namespace octavo::query::search
