#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/error.h"
#include "config/settings.h"
#include "storage/document/document.h"
#include "storage/document/expiry.h"
#include "storage/document/large_partitions.h"
#include "storage/document/sequence_allocator.h"
#include "storage/lmdb/store.h"
#include "storage/logs/replaced_log.h"
#include "storage/partition/partition_transaction.h"
#include "storage/partition/snapshot.h"
#include "storage/partition/writer_pool.h"

namespace octavo::storage {

class DocumentObserver;
class DocumentWriter;
class StorePreparation;
class UnfedChanges;
class UniqueKeys;
class WriteSuccessor;
struct PartitionCopy;

/// One physical partition: a contiguous hash range of a database, in one store.
///
/// Thread-safe. Reads run on the caller's thread and never block. Writes are queued and committed in groups: the writer
/// drains the queue into one transaction, commits it durably, then completes each request, on the writer's thread.
/// A document's failure never fails its neighbours; requests marked atomic are all-or-nothing inside the group.
class PhysicalPartition : public WriteSource, public std::enable_shared_from_this<PhysicalPartition> {
 public:
  struct Options {
    std::filesystem::path folder;
    std::size_t partition_id = 0;
    config::Durability durability = config::Durability::commit;
    config::Compression compression = config::Compression::zstd;
    std::uint64_t capacity_bytes_initial = 16ULL << 20;
    std::uint64_t logical_partition_bytes_max = 20ULL << 30;
    /// Limit for waiting writes; beyond it, and beyond that of the WriterPool: Error overloaded.
    std::size_t queue_bytes_max = 256ULL << 20;
    FaultInjector* faults = nullptr;  ///< for tests only
  };
  /// Called after each durable group, on the writer's thread: wakes followers.
  using CommitListener = std::function<void(bool design_documents_changed)>;

  PhysicalPartition(Options options, WriterPool& writers);
  ~PhysicalPartition() override;

  /// Creates the files of a new partition, durably. Must precede any other call. Error io_failure also if the folder
  /// has files of a partition: their documents would join the new one.
  Expected<void> create();
  /// Must be called once before any write; the allocator must outlive the partition's writes.
  void attach(std::shared_ptr<SequenceAllocator> sequences, CommitListener on_commit);
  void set_observer(std::shared_ptr<DocumentObserver> observer);
  void set_revs_limit(std::uint32_t revs_limit) { revs_limit_.store(revs_limit, std::memory_order_relaxed); }

  Expected<Snapshot> snapshot() const;
  /// The error returned for a partition that was split and no longer exists.
  static std::unexpected<Error> was_split();

  using DocumentResults = std::vector<EditOutcome>;
  using Completion = std::move_only_function<void(DocumentResults)>;
  /// Queues edits. `done` is called exactly once, with one result per write, in order; it must not throw. In an atomic
  /// request one failed precondition fails all writes: the failed ones carry their own error, the others
  /// ErrorCode::precondition_failed. Other requests of more than 4 MiB are written in parts, with other writes between
  /// them.
  void write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done);
  /// Does the same as write(), for callers that do not wait: a request that cannot be queued is the error of this call,
  /// and `done` is not called. Errors: overloaded, not_found.
  Expected<void> try_write(std::vector<DocumentWrite> writes, WriteOptions options, Completion done);

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
  /// How many replaced revisions are kept from now on; none at first.
  void set_replaced_limits(const ReplacedLimits& limits) { replaced_.store(limits, std::memory_order_relaxed); }
  /// Removes all replaced revisions, in several groups of writes. Blocks until they are gone or `stopped` is true.
  Expected<void> drop_replaced(const StorePreparation& preparation);
  /// Gives rows of format 1 the present form (format_upgrade), in many small groups of writes. Blocks until none is
  /// left or `preparation` is stopped. Costs one row if there are known to be none.
  Expected<void> upgrade_rows(StorePreparation& preparation);
  /// Removes logged versions older than `before_s` (Unix time), at most `rows_max`. True: there may be more.
  void trim_versions(std::int64_t before_s, std::size_t rows_max, std::move_only_function<void(Expected<bool>)> done);
  /// Must be called before the first write.
  void set_unique_keys(std::shared_ptr<const UniqueKeys> keys) { unique_keys_ = std::move(keys); }
  const UniqueKeys* unique_keys() const { return unique_keys_.get(); }  ///< null: the database has no unique keys

  /// The projections that write documents of the database; null: there are none. From the next group of writes on.
  void set_owners(std::shared_ptr<const DocumentOwners> owners) {
    owners_.store(std::move(owners), std::memory_order_release);
  }
  std::shared_ptr<const DocumentOwners> owners() const { return owners_.load(std::memory_order_acquire); }

  using PurgeCompletion = std::move_only_function<void(Expected<std::vector<std::vector<Revision>>>)>;
  /// Removes leaf revisions without leaving a tombstone; completes with the purged revisions of each request.
  void purge(std::vector<PurgeRequest> requests, PurgeCompletion done);

  static constexpr std::size_t tombstones_dropped_max = 500;
  /// Removes these tombstones without a trace, in one group of writes; at most `tombstones_dropped_max`, found in order
  /// by find_old_tombstones(). Those whose document was written again meanwhile are left out.
  void drop_tombstones(std::vector<Tombstone> tombstones, std::move_only_function<void(Expected<void>)> done);

  using IndexTask = std::move_only_function<Expected<void>(WriteTransaction&, Tree index_tree)>;
  /// Runs `task` in a transaction of its own, in the order of the writes; for building and dropping local indexes. May
  /// run again when the map is full, so it must have no effects outside the transaction.
  void run_index_task(IndexTask task, std::move_only_function<void(Expected<void>)> done);

  // --- a split or a merge: other partitions take over the content (partitioning/partition_move.h) ---

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
  LargePartitions& large_partitions() { return large_partitions_; }
  const Options& options() const { return options_; }
  /// Size of the requests waiting to be written.
  std::size_t queued_bytes() const { return queued_bytes_.load(std::memory_order_relaxed); }

  /// The database is being deleted: queued and later writes fail with not_found.
  void retire() { retired_.store(true, std::memory_order_release); }

  bool drain() noexcept override;

 private:
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
  struct LargeRequest;
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
  Expected<bool> run_part_and_wait(std::move_only_function<Expected<bool>(WriteTransaction&, Tree meta)> part);
  Expected<void> upgrade_in_steps(StorePreparation& preparation);
  /// Admits and queues it, or completes it with the error.
  void enqueue(Job job) noexcept;
  /// Counts a request before it is queued. Errors: overloaded: too much is waiting; not_found: retired.
  Expected<void> admit(std::size_t bytes) noexcept;
  void release(std::size_t bytes) noexcept;
  /// Queues an admitted job.
  void queue(Job job) noexcept;
  void queue_documents(DocumentsJob job, std::size_t bytes) noexcept;
  void queue_next_part(std::shared_ptr<LargeRequest> request) noexcept;
  std::vector<Job> take_group();
  Outcome commit_group(std::span<Job> group) noexcept;
  Outcome commit_documents(std::span<Job> group);
  bool is_stored(Sequence highest) const;
  void finish_group(std::span<Job> group, const Outcome& outcome, Sequence watermark_before) noexcept;
  static void complete(Job& job, const Expected<void>& committed) noexcept;
  static void forward(Job job, WriteSuccessor& successor);
  std::shared_ptr<DocumentObserver> observer();
  std::shared_ptr<UnfedChanges> unfed_changes();
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
  std::atomic<ReplacedLimits> replaced_{};
  std::atomic<bool> has_time_to_live_{false};  ///< lets readers skip the shared pointer if there is no time to live
  std::atomic<std::shared_ptr<const TimeToLive>> time_to_live_;
  std::atomic<std::shared_ptr<const DocumentOwners>> owners_;

  std::atomic<bool> discarded_{false};
  LargePartitions large_partitions_;

  std::mutex queue_mutex_;  ///< guards all members below except the last
  std::deque<Job> queue_;
  bool scheduled_ = false;
  bool sealed_ = false;
  std::shared_ptr<WriteSuccessor> successor_;
  std::shared_ptr<UnfedChanges> unfed_;
  std::shared_ptr<DocumentObserver> observer_;
  std::atomic<std::size_t> queued_bytes_{0};
};

}  // namespace octavo::storage
