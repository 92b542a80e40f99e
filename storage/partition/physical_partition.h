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

#include "storage/document/document.h"
#include "storage/document/document_record.h"
#include "storage/document/expiry.h"
#include "storage/document/revision_tree.h"
#include "storage/document/sequence_allocator.h"
#include "storage/lmdb/long_key_tree.h"
#include "storage/lmdb/store.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/version_log.h"
#include "storage/partition/writer_pool.h"

namespace octavo::storage {

class DocumentWriter;
class PhysicalPartition;

/// One change of one document, as reported to the observer.
struct DocumentChange {
  std::string_view id;
  std::string_view partition_key;
  std::optional<std::string_view> before;  ///< body of the live winner before; nullopt: there was none
  std::optional<std::string_view> after;   ///< body of the live winner after; nullopt: deleted or purged
  Revision before_revision;                ///< meaningful with `before`
  Revision after_revision;                 ///< meaningful with `after`
  /// Documents of the logical partition that are not deleted, after the change; 0 without partition key.
  std::uint64_t partition_documents = 0;
};

/// Keeps derived data (local indexes) in step with the documents, inside the document's transaction. Called on the
/// writer's thread, never by two threads at once for one partition. The views point to copies outside the memory map.
class DocumentObserver {
 public:
  virtual ~DocumentObserver() = default;
  /// Returns the number of index rows put or erased; a row that is kept in two orders counts once. An error aborts the
  /// transaction (all its writes fail).
  virtual Expected<std::uint32_t> document_changed(WriteTransaction& transaction, Tree index_tree,
                                                   const DocumentChange& change) = 0;
};

/// Unique keys of a database's documents, within each logical partition. A row for each value, beside the documents,
/// names the document that has it, so that a second document with it is refused (unique_key_violated).
class UniqueKeys {
 public:
  virtual ~UniqueKeys() = default;
  /// One digest of 16 bytes per unique key, computed from the key's identity and the body's values. Any thread.
  virtual std::vector<std::string> digests(std::string_view body) const = 0;
};

/// Reads and edits of documents; the edits are committed together or not at all.
class DocumentTransaction {
 public:
  virtual ~DocumentTransaction() = default;
  /// The winner, with the edits made so far applied. Views live until the next call.
  virtual Expected<std::optional<DocumentView>> find(std::string_view id) = 0;
  /// The inner error concerns this edit, which changed nothing; the outer one fails the transaction.
  virtual Expected<Expected<WrittenDocument>> apply(const DocumentWrite& write) = 0;
};

/// The calls that a transaction's task may make, on the writer's thread of a physical partition.
class PartitionTransaction final : public DocumentTransaction {
 public:
  explicit PartitionTransaction(DocumentWriter& writer) : writer_(writer) {}
  Expected<std::optional<DocumentView>> find(std::string_view id) override;
  Expected<Expected<WrittenDocument>> apply(const DocumentWrite& write) override;
  std::int64_t now_s() const;  ///< the time stamped on the edits
  /// See last_change_in.
  Sequence last_change(std::string_view partition_key) const;
  /// The physical partition's purge count, including purges earlier in the same commit.
  std::uint64_t purge_count() const;

 private:
  DocumentWriter& writer_;
};

/// Read view of one physical partition. Must be used and destroyed on the thread that took it; never across a co_await.
class Snapshot {
 public:
  Snapshot(Snapshot&&) = default;

  /// Winning revision, even if it is a tombstone (`deleted`). nullopt: never written. O(log n), copies nothing.
  Expected<std::optional<DocumentView>> find(std::string_view id) const;
  /// As find(), but expired documents are live until deleted: for indexes, as a longer time to live may restore them.
  Expected<std::optional<DocumentView>> find_stored(std::string_view id) const;
  /// The tree of a document returned by find(); built on the fly if the document was written only once.
  Expected<RevisionTree> revision_tree(const DocumentView& document) const;
  /// Body of a leaf (winner or conflict). nullopt if `revision` is not a leaf.
  Expected<std::optional<std::string_view>> leaf_body(const DocumentView& document, const Revision& revision) const;
  Expected<std::optional<LocalDocumentView>> find_local(std::string_view id) const;

  /// Documents, including tombstones, in byte order of their ids. Cursors return nullopt at the end.
  class DocumentCursor {
   public:
    /// As Snapshot::find, but cheaper for a document near the one found before: the cursor keeps its position.
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
  DocumentCursor stored_documents() const;  ///< as find_stored()
  /// Expired documents that are not deleted yet, at most `rows_max`. Reads no other documents.
  struct Expired {
    struct Document {
      std::string id;
      Revision revision;
      std::int64_t expiration_s = 0;
    };
    /// False: the schedule is incomplete (make_expiry_schedule); there may be more.
    bool whole = true;
    std::vector<Document> documents;                ///< by expiration time
    std::optional<std::int64_t> next_expiration_s;  ///< Unix time of the next expiration; nullopt: unknown or none
  };
  Expected<Expired> expired_documents(std::size_t rows_max) const;

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

  /// The feed in sequence order; the caller must stop at the watermark that it took *before* the snapshot.
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
  /// The feed of one logical partition; reads no other partition's rows.
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
  /// Logged versions of documents, if versions are kept; the log is complete above versions_since().
  VersionLog versions() const;
  Expected<Sequence> versions_since() const;
  Expected<std::uint64_t> purge_count() const;

  /// Rows of local indexes: see DocumentObserver.
  LongKeyCursor index_entries() const;
  Expected<std::optional<std::string_view>> index_entry(std::string_view key) const;

  // Estimates as of ReadTransaction::rows_estimate.
  /// Documents, including tombstones and design documents, by their ids.
  std::optional<RowsEstimate> documents_estimate(std::string_view low, std::optional<std::string_view> high,
                                                 Closeness closeness) const;
  std::optional<RowsEstimate> index_entries_estimate(std::string_view low, std::optional<std::string_view> high,
                                                     Closeness closeness) const;
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

/// Ids of documents whose changes do not appear in the feed: local documents and purged ones. Collected while the
/// partition is being copied. Thread-safe.
class UnfedChanges {
 public:
  void add_document(std::string_view id);
  void add_local_document(std::string_view id);
  struct Ids {
    std::set<std::string, std::less<>> documents;
    std::set<std::string, std::less<>> local_documents;
  };
  /// Ids added since the last call.
  Ids take();

 private:
  std::mutex mutex_;
  Ids ids_;
};

/// One physical partition: a contiguous hash range of a database, in one store.
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
    std::uint64_t capacity_bytes_initial = 16ULL << 20;
    std::uint64_t logical_partition_bytes_max = 20ULL << 30;
    std::size_t queue_bytes_max = 256ULL << 20;  ///< limit for waiting writes; beyond it: Error overloaded
    FaultInjector* faults = nullptr;             ///< for tests only
  };
  /// Called after each durable group, on the writer's thread: wakes followers.
  using CommitListener = std::function<void(bool design_documents_changed)>;

  PhysicalPartition(Options options, WriterPool& writers);
  ~PhysicalPartition() override;

  /// Creates the files of a new partition, durably. Must precede any other call.
  Expected<void> create();
  /// Must be called once before any write; the allocator must outlive the partition's writes.
  void attach(std::shared_ptr<SequenceAllocator> sequences, CommitListener on_commit);
  void set_observer(std::shared_ptr<DocumentObserver> observer);
  void set_revs_limit(std::uint32_t revs_limit) { revs_limit_.store(revs_limit, std::memory_order_relaxed); }

  Expected<Snapshot> snapshot() const;
  /// The error returned for a partition that was split and no longer exists.
  static std::unexpected<Error> was_split();

  using DocumentResults = std::vector<Expected<WrittenDocument>>;
  using Completion = std::move_only_function<void(DocumentResults)>;
  /// Queues edits. `done` is called exactly once, with one result per write, in order; it must not throw. In an atomic
  /// request one failed precondition fails all writes: the failed ones carry their own error, the others
  /// ErrorCode::precondition_failed.
  void write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done);

  using LocalCompletion = std::move_only_function<void(Expected<std::uint64_t>)>;
  void write_local(LocalDocumentWrite write, LocalCompletion done);

  /// Returns true to keep its edits, false to undo them, which is not an error.
  using TransactionTask = std::move_only_function<Expected<bool>(PartitionTransaction&)>;
  /// Runs `task` on the writer's thread, in the order of the writes; it must be short, as all others wait. It may run
  /// again (when the map was full), so its last results must be its only effect. `bytes`: about how much it will write.
  /// `partition_key`: the key of all its edits; empty: they have several, and the task cannot be handed over.
  void run_transaction(TransactionTask task, std::string partition_key, std::size_t bytes,
                       std::move_only_function<void(Expected<void>)> done);
  /// Null: documents live until they are deleted. Applies to snapshots taken from now on.
  void set_time_to_live(std::shared_ptr<const TimeToLive> rule);
  std::shared_ptr<const TimeToLive> time_to_live() const { return time_to_live_.load(std::memory_order_acquire); }
  bool has_time_to_live() const { return has_time_to_live_.load(std::memory_order_relaxed); }
  /// Builds a part of the expiry schedule, which a new time to live needs: reads at most `rows_max` rows. True: there
  /// is more to do.
  void make_expiry_schedule(std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done);
  /// Whether every version of every document is logged, from the next group of writes on.
  void set_keeps_versions(bool keeps) { keeps_versions_.store(keeps, std::memory_order_relaxed); }
  bool keeps_versions() const { return keeps_versions_.load(std::memory_order_relaxed); }
  /// Removes logged versions older than `before_s` (Unix time), at most `rows_max`. True: there may be more.
  void trim_versions(std::int64_t before_s, std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done);
  /// Must be called before the first write.
  void set_unique_keys(std::shared_ptr<const UniqueKeys> keys) { unique_keys_ = std::move(keys); }
  const UniqueKeys* unique_keys() const { return unique_keys_.get(); }  ///< null: the database has no unique keys

  using PurgeCompletion = std::move_only_function<void(Expected<std::vector<std::vector<Revision>>>)>;
  /// Removes leaf revisions without leaving a tombstone; completes with the purged revisions of each request.
  void purge(std::vector<PurgeRequest> requests, PurgeCompletion done);

  using IndexTask = std::move_only_function<Expected<void>(WriteTransaction&, Tree index_tree)>;
  /// Runs `task` in a transaction of its own, in the order of the writes; for building and dropping local indexes. May
  /// run again when the map is full, so it must have no effects outside the transaction.
  void run_index_task(IndexTask task, std::move_only_function<void(Expected<void>)> done);

  // --- a split: two other partitions take over the content (partitioning/partition_split.h) ---

  /// Takes over documents of another partition, in a transaction of its own. After an error none of them is stored.
  void adopt(PartitionCopy copy, std::move_only_function<void(Expected<void>)> done);
  /// `changes` collects what the feed does not show, from now on, after each commit; null stops that.
  void note_unfed(std::shared_ptr<UnfedChanges> changes);
  /// Writes queued after this wait until unseal() or hand_over(). `done`: all writes before it have completed.
  void seal(std::move_only_function<void(Expected<void>)> done);
  void unseal();
  /// Forwards the waiting and all later writes to `successor`, permanently. This partition then serves only readers.
  void hand_over(std::shared_ptr<WriteSuccessor> successor);
  /// After hand_over: removes the files; false if they are being read now. Snapshots fail from then on with
  /// partition_split.
  bool discard();

  Store& store() const { return *store_; }
  const Options& options() const { return options_; }
  /// Size of the requests waiting to be written.
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

  /// The result of a group, for its requests and for followers.
  struct Outcome {
    Expected<void> committed;
    bool visible = false;  ///< in the feed; also true if the disk reported a failure but stored the group
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
  std::unique_ptr<Store> store_;
  std::shared_ptr<SequenceAllocator> sequences_;
  CommitListener on_commit_;
  std::atomic<std::uint32_t> revs_limit_{1000};
  std::atomic<bool> retired_{false};
  std::shared_ptr<const UniqueKeys> unique_keys_;
  std::atomic<bool> keeps_versions_{false};
  std::atomic<bool> has_time_to_live_{false};  ///< lets readers skip the shared pointer if there is no time to live
  std::atomic<std::shared_ptr<const TimeToLive>> time_to_live_;

  std::atomic<bool> discarded_{false};

  std::mutex queue_mutex_;  ///< guards all members below except the last
  std::deque<Job> queue_;
  bool scheduled_ = false;
  bool sealed_ = false;
  std::shared_ptr<WriteSuccessor> successor_;
  std::shared_ptr<UnfedChanges> unfed_;
  std::shared_ptr<DocumentObserver> observer_;
  std::atomic<std::size_t> queued_bytes_{0};
};

/// Receives the writes of a partition that was split. Thread-safe; each call completes `done` once, as the partition
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
