#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <boost/unordered/unordered_flat_set.hpp>

#include "base/function_ref.h"
#include "query/index/feed_index_kind.h"
#include "query/search/internal/background_merges.h"
#include "query/search/internal/columns.h"
#include "query/search/internal/document_builder.h"
#include "query/search/internal/index_snapshot.h"
#include "query/search/internal/lucene_directory.h"

namespace octavo::query::search {

/// How far an index is. Kept in Lucene's commits as text.
struct IndexState {
  storage::Sequence checkpoint = 0;
  std::uint64_t purge_count = 0;
  std::uint64_t next_ordinal = 1;
};

/// The Lucene files of one search index: opens, changes, commits and closes them.
///
/// Changes are searched right away, from memory or from files that are not synced yet; a commit, which syncs, is made
/// every few seconds or some ten thousand documents and carries the checkpoint. What a crash takes is read from the
/// feed again. After any error all changes since the last commit are taken back: Lucene++ waits for ever for itself
/// after an exception it does not know, such as that of a shortage of memory, so its writer is left as it is, cut off
/// from the files, and another one begins from the commit.
///
/// Files that cannot be read are thrown away: all that an index holds is in the documents.
class IndexFiles {
 public:
  IndexFiles(FeedIndexOptions options, std::shared_ptr<const FieldAnalyzers> analyzers, const FieldSource& source);
  ~IndexFiles();

  /// Reads the state of what is there; makes the folder. `last_sequence`: as FeedIndex::open.
  Expected<void> open(storage::Sequence last_sequence);

  storage::Sequence checkpoint() const { return checkpoint_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence committed_checkpoint() const { return committed_checkpoint_.load(std::memory_order_acquire); }

  struct Change {
    const FeedDocument* document = nullptr;
    std::span<const IndexedField> fields;  ///< none: the document is not in the index
  };
  struct Batch {
    storage::Sequence checkpoint = 0;
    std::uint64_t purge_count = 0;
    bool complete = false;     ///< as FeedChanges::complete
    bool last = true;          ///< no other follows at once: those who search want it
    std::uint64_t losses = 0;  ///< losses() before the feed was read for it
  };
  /// Makes the changes that `next` fills in until it says false, and stores the state with them. One thread at a time;
  /// searches wait meanwhile, so `next` only hands over what is there. An error takes back everything since the last
  /// commit, also what earlier calls did: checkpoint() tells. Errors: also overloaded, when something was taken back
  /// that the batch goes on from.
  Expected<void> apply(FunctionRef<bool(Change&)> next, const Batch& batch);
  /// As FeedIndex: 0 after anything was taken back, until a complete batch has come.
  storage::Sequence complete_through() const { return complete_through_.load(std::memory_order_acquire); }
  /// How often changes were taken back.
  std::uint64_t losses() const { return losses_.load(std::memory_order_acquire); }

  /// Everything up to at_least, at least. Opens the files when they are closed.
  Expected<IndexSnapshotPtr> snapshot(storage::Sequence at_least);
  ColumnCache& columns() { return columns_; }
  const LuceneDirectory::LastError& last_error() const { return last_error_; }
  std::uint64_t bytes_on_disk() const;

  bool is_open() const { return open_.load(std::memory_order_relaxed); }
  std::uint64_t last_used_ms() const { return last_used_ms_.load(std::memory_order_relaxed); }
  /// Commits and closes, unless somebody reads or writes. True: it was open and is closed.
  bool close_if_idle();
  void remove_files();
  /// What was read makes no sense (corrupted): throws everything away; the state is that of an empty index.
  void discard(const Error& error);

 private:
  std::filesystem::path lucene_folder() const { return options_.folder / "lucene"; }
  // Those that may throw are called inside of guard_lucene. All under write_mutex_.
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
  void touch();

  FeedIndexOptions options_;
  bool durable_;
  const LuceneDirectory::LastError last_error_ = std::make_shared<std::atomic<int>>(0);
  boost::shared_ptr<LuceneDirectory> directory_;  ///< none after a writer was dropped
  DocumentBuilder builder_;
  ColumnCache columns_;

  std::mutex write_mutex_;  ///< guards all up to the next mutex
  Lucene::IndexWriterPtr writer_;
  boost::shared_ptr<BackgroundMerges> merges_;  ///< of writer_, also when that could not be opened
  IndexState pending_;
  std::size_t uncommitted_changes_ = 0;
  std::chrono::steady_clock::time_point committed_at_{};
  storage::Sequence noted_checkpoint_ = 0;   ///< on disk, in Lucene's commit or in the note
  storage::Sequence lucene_checkpoint_ = 0;  ///< in Lucene's last commit
  std::uint64_t changes_ = 0;                ///< made in this run
  std::uint64_t snapshot_changes_ = 0;       ///< of those, in snapshot_
  /// Hashes of the ids that are in an index which was empty when it was opened: a document that is not among them is
  /// new, and nothing has to be looked up and removed. Given up when it has served its turn.
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
