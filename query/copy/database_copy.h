#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "query/copy/copy_definition.h"
#include "query/copy/copy_state.h"
#include "query/follow/feed_index.h"
#include "query/follow/purge_scan.h"
#include "query/project/document_form.h"
#include "query/project/target/copy_writer.h"

namespace octavo::query::copy {

/// What the catalog has of a copy.
struct CopyRecord {
  std::string id;          ///< 32 hexadecimal digits; names the folder of its state
  std::string target_tag;  ///< instance tag of the target
  bool paused = false;
  bool has_ended = false;  ///< the target is an independent database
  std::int64_t created_s = 0;
  CopyDefinition definition;
  bool removes_target = false;  ///< it was cancelled: the target is being deleted, and then this record
};

/// Copies the documents of one database into another one, and follows the changes: with their revisions, conflicts,
/// tombstones and times, and with new sequences.
///
/// Reads the present state of each document that the feed names, so a batch may be repeated. Which ids the documents
/// have in the target is durable before they are written there (copy_state.h), so that after a crash none is left that
/// no document has.
///
/// FeedConsumer's functions are called by the follower's job. The others from any thread.
class DatabaseCopy final : public FeedConsumer {
 public:
  DatabaseCopy(partitioning::Database& source, CopyRecord record, project::FormReader read_form,
               std::shared_ptr<const std::atomic<bool>> stopping);
  /// Opens the state. Errors: those of the disk, corrupted.
  Expected<void> open();

  storage::Sequence checkpoint() const override { return checkpoint_.load(std::memory_order_acquire); }
  storage::Sequence complete_through() const override { return complete_through_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const override { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence knows_deletions_through() const override;
  FeedBodies bodies() const override { return FeedBodies::none; }
  Expected<std::size_t> apply(const FeedChanges& changes) override;
  Expected<bool> remove_known(const KnownPurges& purges) override;
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t documents_max) override;

  /// Why no database with these forms can be a copy of the other. Errors: bad_request.
  static Expected<void> check(const CopyDefinition& definition, const project::DocumentForm& from,
                              const project::DocumentForm& into, bool into_is_partitioned);

  const CopyRecord& record() const { return record_; }
  struct Status {
    CopyState::Numbers numbers;
    double per_second = 0;  ///< documents of the last batch
  };
  Status status() const;
  /// Whether it may write to the target. Blocks while a batch is written. At first it may.
  void set_writing(bool writes);
  storage::Store& store() { return state_.store(); }
  /// Blocks while a batch is written.
  void remove_files();

 private:
  class Reader;
  class Chunk;
  Expected<std::shared_ptr<partitioning::Database>> open_target() const;
  /// Stores the documents, and begins to write them.
  Expected<void> settle(std::vector<CopiedDocument> documents, Reader& reader, project::CopyWriter& writer,
                        std::uint64_t purge_count);
  /// Writes known documents that have changed since the checkpoint.
  Expected<void> renew(Reader& reader, partitioning::Database& target);
  /// Waits until all is written. Errors: also refusals.
  Expected<void> finish(project::CopyWriter& writer);
  Expected<void> remove(std::vector<std::string> gone, std::uint64_t purge_count);
  void keep_pace(std::size_t documents, std::chrono::steady_clock::time_point begun) const;

  partitioning::Database& source_;
  const CopyRecord record_;
  const project::FormReader read_form_;
  const std::shared_ptr<const std::atomic<bool>> stopping_;
  CopyState state_;
  std::mutex work_mutex_;  ///< held while a batch is read and written; guards the next one
  bool writes_ = true;
  bool was_refused_ = false;  ///< a document of the last batch
  PurgeScan purge_scan_;      ///< used by the follower's job

  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  std::atomic<double> per_second_{0};
};

}  // namespace octavo::query::copy
