#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "storage/document.h"
#include "storage/document_copy.h"
#include "storage/document_record.h"
#include "storage/environment.h"
#include "storage/expiry.h"
#include "storage/long_key_tree.h"
#include "storage/revision_tree.h"
#include "storage/sequence_allocator.h"
#include "storage/version_log.h"
#include "storage/writer_pool.h"

namespace octavo::storage {

class DocumentWriter;
class PhysicalPartition;

/// One change of one document, as the writer tells its observer.
struct DocumentChange {
  std::string_view id;
  std::string_view partition_key;
  std::optional<std::string_view> before;  ///< body of the live winner before; nullopt: none
  std::optional<std::string_view> after;   ///< body of the live winner after; nullopt: deleted or purged
  Revision before_revision;                ///< meaningful with `before`
  Revision after_revision;                 ///< meaningful with `after`
  /// Documents of the logical partition that are not deleted, after the change; 0 without partition key.
  std::uint64_t partition_documents = 0;
};

/// Keeps derived data (local indexes) in step with the documents, inside the document's transaction. Called on the
/// writer's thread, never by two threads at once for one partition. The views are copies outside of the memory map.
class DocumentObserver {
 public:
  virtual ~DocumentObserver() = default;
  /// How many rows the change was worth: put or erased, those kept in two orders once. An error aborts the transaction
  /// (all its writes fail).
  virtual Expected<std::uint32_t> document_changed(WriteTransaction& transaction, Tree index_tree,
                                                   const DocumentChange& change) = 0;
};

/// Unique keys of a database's documents, within each logical partition: rows beside the documents name who has which
/// values, so that a second one is refused (conflict, with the word `unique_key`).
class UniqueKeys {
 public:
  virtual ~UniqueKeys() = default;
  /// One digest of 16 bytes for each unique key: of which one it is, and of the body's values. Any thread.
  virtual std::vector<std::string> digests(std::string_view body) const = 0;
};

/// Reads and edits of documents that all happen, or none of them.
class DocumentTransaction {
 public:
  virtual ~DocumentTransaction() = default;
  /// The winner, as left by the edits so far. Views live until the next call.
  virtual Expected<std::optional<DocumentView>> find(std::string_view id) = 0;
  /// The inner error is about this edit, which changed nothing; the outer one ends the transaction.
  virtual Expected<Expected<WrittenDocument>> apply(const DocumentWrite& write) = 0;
};

/// What a transaction's task may do, on the writer's thread of a physical partition.
class PartitionTransaction final : public DocumentTransaction {
 public:
  explicit PartitionTransaction(DocumentWriter& writer) : writer_(writer) {}
  Expected<std::optional<DocumentView>> find(std::string_view id) override;
  Expected<Expected<WrittenDocument>> apply(const DocumentWrite& write) override;
  std::int64_t now_s() const;  ///< the time that edits are stamped with
  /// See last_change_in.
  Sequence last_change(std::string_view partition_key) const;
  /// Of the physical partition; purges of the same commit are among them.
  std::uint64_t purge_count() const;

 private:
  DocumentWriter& writer_;
};

/// Read view of one physical partition. Must be used and destroyed on the thread that took it; never across a co_await.
class Snapshot {
 public:
  Snapshot(Snapshot&&) = default;

  /// Winning revision, also when it is a tombstone (`deleted`). nullopt: never written. O(log n), copies nothing.
  Expected<std::optional<DocumentView>> find(std::string_view id) const;
  /// The same, but what has ended is live until it is deleted: for indexes, as another time to live may bring it back.
  Expected<std::optional<DocumentView>> find_stored(std::string_view id) const;
  /// The tree of a document found by find(); synthesised when it was written only once.
  Expected<RevisionTree> revision_tree(const DocumentView& document) const;
  /// Body of a leaf (winner or conflict). nullopt when `revision` is no leaf.
  Expected<std::optional<std::string_view>> leaf_body(const DocumentView& document, const Revision& revision) const;
  Expected<std::optional<LocalDocumentView>> find_local(std::string_view id) const;

  /// Documents, tombstones included, in byte order of their ids. Cursors: nullopt at the end.
  class DocumentCursor {
   public:
    /// As Snapshot::find, but cheaper for a document near the one found before: the cursor stays where it was.
    Expected<std::optional<DocumentView>> find(std::string_view id);
    std::optional<DocumentView> seek(std::string_view id);
    std::optional<DocumentView> seek_back(std::string_view id);
    std::optional<DocumentView> last();
    std::optional<DocumentView> next();
    std::optional<DocumentView> previous();

   private:
    friend class Snapshot;
    DocumentCursor(LongKeyCursor cursor, Expiry expiry) : cursor_(std::move(cursor)), expiry_(std::move(expiry)) {}
    std::optional<DocumentView> seen(const std::optional<KeyValue>& row) const;
    LongKeyCursor cursor_;
    Expiry expiry_;
  };
  DocumentCursor documents() const;
  DocumentCursor stored_documents() const;  ///< as find_stored
  /// Live documents that have come to their end, at most `rows_max`: what is to be deleted. Reads no others.
  struct Ended {
    struct Document {
      std::string id;
      Revision revision;
      std::int64_t end_s = 0;
    };
    bool whole = true;  ///< false: the schedule of ends is still to be made (make_expiry_schedule), there may be more
    std::vector<Document> documents;         ///< in the order of their ends
    std::optional<std::int64_t> next_end_s;  ///< Unix time at which the next one ends; nullopt: not known, or none
  };
  Expected<Ended> ended_documents(std::size_t rows_max) const;

  class LocalDocumentCursor {
   public:
    std::optional<LocalDocumentView> seek(std::string_view id);
    std::optional<LocalDocumentView> next();

   private:
    friend class Snapshot;
    explicit LocalDocumentCursor(LongKeyCursor cursor) : cursor_(std::move(cursor)) {}
    LongKeyCursor cursor_;
  };
  LocalDocumentCursor local_documents() const;

  /// The feed in sequence order; the caller stops at the watermark it took *before* the snapshot.
  class FeedCursor {
   public:
    std::optional<FeedRow> seek(Sequence at_least);
    std::optional<FeedRow> seek_back(Sequence at_most);
    std::optional<FeedRow> next();
    std::optional<FeedRow> previous();

   private:
    friend class Snapshot;
    FeedCursor(const ReadTransaction& transaction, Tree feed, Tree partitions, std::string_view partition_key);
    std::optional<FeedRow> accept(std::optional<KeyValue> row, bool forward);
    const ReadTransaction* transaction_;
    Tree feed_;
    Cursor cursor_;
    std::string prefix_;  ///< logical partition's prefix in the partition feed; empty: whole feed
    std::string partition_key_;
  };
  FeedCursor feed() const;
  /// The feed of one logical partition: reads no other partition's rows.
  FeedCursor feed_of(std::string_view partition_key) const;

  /// See last_change_in.
  Sequence last_change(std::string_view partition_key) const;
  /// Id of the document that has these unique values in its logical partition; see UniqueKeys.
  Expected<std::optional<std::string>> unique_owner(std::string_view partition_key, std::string_view digest) const;

  Expected<PartitionCounters> counters() const;
  Expected<DocumentStatistics> statistics() const;
  Expected<DocumentStatistics> statistics_of(std::string_view partition_key) const;
  /// All logical partitions, in no particular order. O(their number).
  Expected<void> for_each_partition(
      FunctionRef<void(std::string_view partition_key, const DocumentStatistics&)> visit) const;
  Expected<Sequence> last_sequence() const;
  /// Versions of documents, where they are kept; and above which sequence that is all of them.
  VersionLog versions() const;
  Expected<Sequence> versions_since() const;
  Expected<std::uint64_t> purge_count() const;

  /// Rows of local indexes: see DocumentObserver.
  LongKeyCursor index_entries() const;
  Expected<std::optional<std::string_view>> index_entry(std::string_view key) const;
  const ReadTransaction& transaction() const { return transaction_; }

 private:
  friend class PhysicalPartition;
  Snapshot(const PhysicalPartition& partition, ReadTransaction transaction, Expiry expiry)
      : partition_(&partition), transaction_(std::move(transaction)), expiry_(std::move(expiry)) {}
  const PhysicalPartition* partition_;
  ReadTransaction transaction_;
  Expiry expiry_;
};

class WriteSuccessor;

/// The ids of documents whose changes the feed does not tell of: local ones, and those that were purged. Kept while the
/// partition is being copied. Thread-safe.
class UnfedChanges {
 public:
  void add_document(std::string_view id);
  void add_local_document(std::string_view id);
  struct Ids {
    std::set<std::string, std::less<>> documents;
    std::set<std::string, std::less<>> local_documents;
  };
  /// Those added since the last call.
  Ids take();

 private:
  std::mutex mutex_;
  Ids ids_;
};

/// One physical partition: a contiguous hash range of a database, stored in one LMDB environment.
///
/// Thread-safe. Reads run on the caller's thread and never block. Writes are queued and committed in groups: the writer
/// drains the queue into one transaction, commits it durably, then completes each request, on the writer's thread.
/// A document's failure never fails its neighbours; requests marked atomic are all-or-nothing inside the group.
class PhysicalPartition : public WriteSource, public std::enable_shared_from_this<PhysicalPartition> {
 public:
  struct Options {
    std::filesystem::path folder;
    std::size_t ordinal = 0;  ///< index in the database's partition map
    config::Durability durability = config::Durability::commit;
    std::uint64_t map_bytes_initial = 16ULL << 20;
    std::uint64_t logical_partition_bytes_max = 20ULL << 30;
    std::size_t queue_bytes_max = 256ULL << 20;  ///< waiting writes; beyond: Error overloaded
    FaultInjector* faults = nullptr;             ///< tests' only
  };
  /// Called after each durable group, on the writer's thread: wakes followers.
  using CommitListener = std::function<void(bool design_documents_changed)>;

  PhysicalPartition(Options options, WriterPool& writers);
  ~PhysicalPartition() override;

  /// Creates the files, durably. Before any other call, for a new partition.
  Expected<void> create();
  /// To be called once before writes; the allocator outlives the partition's writes.
  void attach(std::shared_ptr<SequenceAllocator> sequences, CommitListener on_commit);
  void set_observer(std::shared_ptr<DocumentObserver> observer);
  void set_revs_limit(std::uint32_t revs_limit) { revs_limit_.store(revs_limit, std::memory_order_relaxed); }

  Expected<Snapshot> snapshot() const;
  /// What whoever still asks for a partition is told when it is gone.
  static std::unexpected<Error> was_split();

  using DocumentResults = std::vector<Expected<WrittenDocument>>;
  using Completion = std::move_only_function<void(DocumentResults)>;
  /// Queues edits. `done` gets one result per write, in order, once, whatever happens; it must not throw. In an atomic
  /// request a failed precondition fails all: the failed ones carry their own error, the others
  /// ErrorCode::precondition_failed.
  void write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done);

  using LocalCompletion = std::move_only_function<void(Expected<std::uint64_t>)>;
  void write_local(LocalDocumentWrite write, LocalCompletion done);

  /// True: what it did is kept; false: it is undone, and that is no error.
  using TransactionTask = std::move_only_function<Expected<bool>(PartitionTransaction&)>;
  /// Runs `task` on the writer's thread, in the order of the writes; short, as everybody else waits. It may run again
  /// (the map was full), so it must have no effects but its last results. `bytes`: about what it will write.
  /// `partition_key`: that of all its edits; empty: they have several, and the task cannot be handed over.
  void run_transaction(TransactionTask task, std::string partition_key, std::size_t bytes,
                       std::move_only_function<void(Expected<void>)> done);
  /// Null: documents live until they are deleted. Snapshots taken from now on follow it.
  void set_time_to_live(std::shared_ptr<const TimeToLive> rule);
  std::shared_ptr<const TimeToLive> time_to_live() const { return time_to_live_.load(std::memory_order_acquire); }
  bool has_time_to_live() const { return has_time_to_live_.load(std::memory_order_relaxed); }
  /// Works on the schedule of ends, which a new time to live needs: looks at `rows_max` rows at most. True: there is
  /// more to do.
  void make_expiry_schedule(std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done);
  /// Whether every version of every document is kept in the log of versions, from the next group of writes on.
  void set_keeps_versions(bool keeps) { keeps_versions_.store(keeps, std::memory_order_relaxed); }
  bool keeps_versions() const { return keeps_versions_.load(std::memory_order_relaxed); }
  /// Forgets versions from before `before_s` (Unix time), at most `rows_max`. True: there may be more.
  void trim_versions(std::int64_t before_s, std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done);
  /// Before the first write.
  void set_unique_keys(std::shared_ptr<const UniqueKeys> keys) { unique_keys_ = std::move(keys); }
  const UniqueKeys* unique_keys() const { return unique_keys_.get(); }  ///< null: there are none

  using PurgeCompletion = std::move_only_function<void(Expected<std::vector<std::vector<Revision>>>)>;
  /// Removes leaf revisions without a tombstone; completes with what was purged, per request.
  void purge(std::vector<PurgeRequest> requests, PurgeCompletion done);

  using IndexTask = std::move_only_function<Expected<void>(WriteTransaction&, Tree index_tree)>;
  /// Runs `task` in a transaction of its own, in the writer's order: building and dropping local indexes. May run again
  /// when the map is full, so it must have no effects outside of the transaction.
  void run_index_task(IndexTask task, std::move_only_function<void(Expected<void>)> done);

  // --- a split: another two partitions take over what is here (partitioning/partition_split.h) ---

  /// Takes over documents of another partition, in a transaction of its own. Errors leave nothing of it.
  void adopt(PartitionCopy copy, std::move_only_function<void(Expected<void>)> done);
  /// From now on `changes` learns what the feed does not tell; null: no more. Called after the commit.
  void note_unfed(std::shared_ptr<UnfedChanges> changes);
  /// Writes that come behind this wait, until unseal() or hand_over(). `done`: all before it are over.
  void seal(std::move_only_function<void(Expected<void>)> done);
  void unseal();
  /// What waits, and whatever is still to come, goes to `successor`. For ever: this partition only answers those who
  /// still read it.
  void hand_over(std::shared_ptr<WriteSuccessor> successor);
  /// After hand_over: removes the files, unless somebody reads them now (false). Snapshots fail from then on, with
  /// overloaded and the word `range_gone`.
  bool discard();

  Environment& environment() const { return *environment_; }
  const Options& options() const { return options_; }
  /// Requests waiting to be written.
  std::size_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }

  /// The database is being deleted: queued and later writes fail with not_found.
  void retire() { retired_.store(true, std::memory_order_release); }

  bool drain() noexcept override;

 private:
  friend class Snapshot;

  struct DocumentsJob {
    std::vector<DocumentWrite> writes;
    WriteOptions options;
    Completion done;
    DocumentResults results;
  };
  struct LocalJob {
    LocalDocumentWrite write;
    LocalCompletion done;
    Expected<std::uint64_t> result;
  };
  struct PurgeJob {
    std::vector<PurgeRequest> requests;
    PurgeCompletion done;
    std::vector<std::vector<Revision>> purged;
  };
  struct TransactionJob {
    TransactionTask task;
    std::string partition_key;
    std::move_only_function<void(Expected<void>)> done;
  };
  struct IndexJob {
    IndexTask task;
    std::move_only_function<void(Expected<void>)> done;
  };
  struct SealJob {
    std::move_only_function<void(Expected<void>)> done;
  };
  struct Job {
    std::variant<DocumentsJob, LocalJob, PurgeJob, TransactionJob, IndexJob, SealJob> work;
    std::size_t bytes = 0;
  };

  /// How a group ended, for its requests and for followers.
  struct Outcome {
    Expected<void> committed;
    bool visible = false;  ///< in the feed: also true when the disk failed, but took the write
    bool design_documents_changed = false;
  };

  Expiry expiry() const;
  void run_part(std::move_only_function<Expected<bool>(WriteTransaction&, Tree meta)> part,
                std::move_only_function<void(Expected<bool>)> done);
  void enqueue(Job job);
  std::vector<Job> take_group();
  Outcome commit_group(std::span<Job> group) noexcept;
  Outcome commit_documents(std::span<Job> group);
  bool is_stored(Sequence highest) const;
  void finish_group(std::span<Job> group, const Outcome& outcome, Sequence watermark_before) noexcept;
  static void complete(Job& job, const Expected<void>& committed) noexcept;
  static void forward(Job job, WriteSuccessor& successor);
  std::shared_ptr<DocumentObserver> observer();
  void note_unfed_of(std::span<const Job> group) noexcept;
  static Expected<void> run_job(DocumentWriter& writer, Job& job);
  static Expected<void> run_documents(DocumentWriter& writer, DocumentsJob& job);
  static Expected<void> run_atomic_documents(DocumentWriter& writer, DocumentsJob& job);

  Options options_;
  WriterPool& writers_;
  std::unique_ptr<Environment> environment_;
  std::shared_ptr<SequenceAllocator> sequences_;
  CommitListener on_commit_;
  std::atomic<std::uint32_t> revs_limit_{1000};
  std::atomic<bool> retired_{false};
  std::shared_ptr<const UniqueKeys> unique_keys_;
  std::atomic<bool> keeps_versions_{false};
  std::atomic<bool> has_time_to_live_{false};  ///< spares readers the pointer, which is shared, where there is none
  std::atomic<std::shared_ptr<const TimeToLive>> time_to_live_;

  std::atomic<bool> discarded_{false};

  std::mutex queue_mutex_;  ///< guards all below but the last
  std::deque<Job> queue_;
  bool scheduled_ = false;
  bool sealed_ = false;
  std::shared_ptr<WriteSuccessor> successor_;
  std::shared_ptr<UnfedChanges> unfed_;
  std::shared_ptr<DocumentObserver> observer_;
  std::atomic<std::size_t> queued_bytes_{0};
};

/// Who takes the writes of a partition that was split. Thread-safe; each call completes `done` once, as the partition
/// would have.
class WriteSuccessor {
 public:
  virtual ~WriteSuccessor() = default;
  virtual void write(std::vector<DocumentWrite> writes, WriteOptions options, PhysicalPartition::Completion done) = 0;
  virtual void write_local(LocalDocumentWrite write, PhysicalPartition::LocalCompletion done) = 0;
  virtual void purge(std::vector<PurgeRequest> requests, PhysicalPartition::PurgeCompletion done) = 0;
  virtual void run_transaction(PhysicalPartition::TransactionTask task, std::string partition_key, std::size_t bytes,
                               std::move_only_function<void(Expected<void>)> done) = 0;
};

}  // namespace octavo::storage
