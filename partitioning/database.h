#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/jobs/accepted_work.h"
#include "base/jobs/gate.h"
#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database_extension.h"
#include "partitioning/database_meter.h"
#include "partitioning/keys/document_target.h"
#include "partitioning/keys/partition_map.h"
#include "storage/catalog.h"
#include "storage/partition/physical_partition.h"
#include "storage/partition/snapshot.h"

namespace octavo {
class Turns;
}

namespace octavo::partitioning {

class Engine;

/// The data that the API that created a database keeps with it (storage::DatabaseRecord::definition), and that API's
/// parsed form of it, which is made once.
struct DatabaseDefinition {
  explicit DatabaseDefinition(std::string json) : text(std::move(json)) {}
  const std::string text;
  mutable std::atomic<std::shared_ptr<const void>> parsed;
};

/// Deletions that the feed does not show.
struct HiddenDeletions {
  std::uint64_t purge_count = 0;
  storage::Sequence dropped_through = 0;  ///< the feed may have no tombstones up to here; 0: it has all
};

/// Where a reader of the feed is.
struct FeedPosition {
  storage::Sequence sequence = 0;  ///< it has read all changes up to here
  /// It began to read at 0 when this was the watermark, so it has never seen what was deleted before: tombstones up to
  /// here tell it nothing.
  storage::Sequence floor = 0;
};

/// An open database: a partition map over physical partitions, with one sequence for all. Both APIs use only this.
///
/// Thread-safe. Held by shared_ptr during a request; after the database is deleted, operations fail with not_found.
/// Reads are synchronous and short; writes are awaited.
///
/// Calls about one document take a DocumentTarget. The variants that take an id are for callers with a single call.
class Database : public std::enable_shared_from_this<Database> {
 public:
  Database(Engine& engine, storage::DatabaseRecord record);
  ~Database();

  // Properties

  /// A name stays valid as long as the database object, also when the database gets another one.
  const std::string& name() const { return *name_.load(std::memory_order_acquire); }
  /// Hexadecimal tag of this incarnation: a re-created database has a different one.
  const std::string& instance_tag() const { return record_.instance_tag; }
  /// What positions in the change feed have: the instance tag, or another one since the database came from a backup.
  const std::string& feed_tag() const { return record_.feed_tag.empty() ? record_.instance_tag : record_.feed_tag; }
  bool partitioned() const { return record_.partitioned; }
  bool auto_index() const { return record_.auto_index; }
  storage::KeyScheme key_scheme() const { return record_.key_scheme; }
  /// Never null; the text is empty for databases of the CouchDB API without properties. A definition stays valid for
  /// those who hold it.
  std::shared_ptr<const DatabaseDefinition> definition() const { return definition_.load(std::memory_order_acquire); }
  /// Durable on return. Errors: not_found, those of the disk.
  Expected<void> set_definition(std::string text);
  std::int64_t created_s() const { return record_.created_s; }
  const std::filesystem::path& folder() const { return folder_; }
  Engine& engine() { return engine_; }
  bool deleted() const { return deleted_.load(std::memory_order_acquire); }
  std::uint32_t revs_limit() const { return revs_limit_.load(std::memory_order_relaxed); }
  Expected<void> set_revs_limit(std::uint32_t limit);
  /// `_security`, as JSON text; nullptr if never set: CouchDB's default is added by the API.
  std::shared_ptr<const std::string> security() const;
  Expected<void> set_security(std::string json);

  // Physical partitions

  /// The present physical partitions. A map is immutable and lives as long as the database; code that uses ranges and
  /// partition ids together must read it once. Its partitions contain all changes up to any watermark that was read
  /// *before* it.
  const PartitionMap& partition_map() const { return *map_.load(std::memory_order_acquire); }
  /// The present partition ids.
  const std::vector<std::size_t>& partition_ids() const { return partition_map().partition_ids(); }
  /// False: the partition was split or merged.
  bool is_current(std::size_t partition_id) const { return partition_map().range_of(partition_id) != nullptr; }
  std::size_t physical_partition_count() const { return partition_map().size(); }
  /// Precondition: there is such a partition, in a range or just split or merged.
  storage::PhysicalPartition& physical_partition(std::size_t partition_id) {
    const auto& partition = partition_map().partition(partition_id);
    OCTAVO_ASSERT(partition != nullptr);
    return *partition;
  }
  /// Documents may expire, so data derived from them may mention expired ones.
  bool has_time_to_live() const {
    const PartitionMap& map = partition_map();
    return map.partition(map.partition_ids().front())->has_time_to_live();
  }

  // Where documents are stored

  /// The target of a document, or of a logical partition. It refers to `document_id` or `partition_key`.
  DocumentTarget target_of(std::string_view document_id) const;
  DocumentTarget target_of_partition_key(std::string_view partition_key) const;
  /// The partition id where the target is stored now.
  std::size_t locate(const DocumentTarget& target) const { return target.locate(partition_map()); }
  std::size_t locate_document(std::string_view document_id) const;
  /// The same in a map that the caller read earlier.
  std::size_t locate_document(const PartitionMap& map, std::string_view document_id) const;
  std::size_t locate_partition_key(std::string_view partition_key) const;
  std::size_t locate_partition_key(const PartitionMap& map, std::string_view partition_key) const;

  /// The number of physical partitions at its creation.
  std::uint32_t created_q() const;
  /// A client that reads physical partitions one by one would read those that are merged twice. Noted, so that none is
  /// merged automatically while there are such clients.
  void note_client_without_merges() {
    client_without_merges_.store(std::chrono::steady_clock::now(), std::memory_order_relaxed);
  }
  /// When that was last noted; min(): never.
  std::chrono::steady_clock::time_point client_without_merges() const {
    return client_without_merges_.load(std::memory_order_relaxed);
  }

  // Reading

  /// Snapshot of the physical partition that stores the document or the logical partition.
  Expected<storage::Snapshot> snapshot(const DocumentTarget& target) const;
  Expected<storage::Snapshot> snapshot_for_document(std::string_view document_id) const;
  Expected<storage::Snapshot> snapshot_for_partition_key(std::string_view partition_key) const;
  /// A partition that was split or merged meanwhile stays readable for some time, in its state at that moment; then
  /// this fails with partition_split.
  Expected<storage::Snapshot> snapshot(std::size_t partition_id) const;
  Expected<storage::DocumentStatistics> statistics() const;  ///< sum over the physical partitions
  Expected<storage::Store::Sizes> file_sizes() const;
  /// Queues the compaction of the physical partitions and of the global indexes (Engine::compactions()), and returns
  /// without waiting for it. It ends early if the database is deleted, and for a partition that is split. May wait for
  /// the disk, to read the definitions of indexes. Errors: not_found, overloaded, those of the disk.
  Expected<void> compact();
  /// Does the same for all indexes that a design document defines.
  Expected<void> compact_indexes(std::string_view design_document);
  /// Whether a compaction runs or waits.
  bool is_compacting() const;
  bool is_compacting(std::string_view design_document) const;
  Expected<std::uint64_t> purge_count() const;
  /// The sums and maxima over all physical partitions.
  Expected<HiddenDeletions> hidden_deletions() const;
  /// Tombstones were dropped, or may be from now on. Never taken back, as readers are told their floor then.
  void expect_dropped_tombstones() { may_lack_tombstones_.store(true, std::memory_order_relaxed); }
  bool may_lack_tombstones() const { return may_lack_tombstones_.load(std::memory_order_relaxed); }

  // Another database may take over its name: Engine::hand_over_name

  /// Requests that write pass it, so that none is under way when the name changes hands.
  Gate& gate() { return gate_; }
  /// How many times that happened since the database was opened. Those who wait for changes are woken then: what they
  /// wait for comes to the other database.
  std::uint32_t times_replaced() const { return times_replaced_.load(std::memory_order_acquire); }

  // Throughput

  /// What requests spend in this database, and may spend.
  DatabaseMeter& meter() { return meter_; }
  const DatabaseMeter& meter() const { return meter_; }

  // Writing

  /// Writes documents to their physical partitions; one result per write, in order. Fills in each `partition_key`.
  /// Precondition: the ids were checked. Resumes on the caller's I/O thread once durable. `atomic` requires that all
  /// ids share one partition key (otherwise bad_request in every result). `targets`: those of the writes, in order, or
  /// of their logical partitions. They end with the ids in `writes` if they refer to these.
  Task<storage::PhysicalPartition::DocumentResults> write(std::span<const DocumentTarget> targets,
                                                          std::vector<storage::DocumentWrite> writes,
                                                          storage::WriteOptions options = {});
  Task<storage::PhysicalPartition::DocumentResults> write(std::vector<storage::DocumentWrite> writes,
                                                          storage::WriteOptions options = {});
  /// Runs `task` as one transaction of the physical partition that stores the target's logical partition; the task sets
  /// the partition keys of its edits. Resumes once durable. `admitted`: the request was admitted before the work that
  /// this completes. See PhysicalPartition::run_transaction.
  Task<Expected<void>> run_transaction(DocumentTarget target, storage::PhysicalPartition::TransactionTask task,
                                       std::size_t bytes, bool admitted = false);
  /// Does the same for edits of several partition keys in one physical partition. Fails with partition_split if that
  /// was split.
  Task<Expected<void>> run_transaction_in(std::size_t partition_id, storage::PhysicalPartition::TransactionTask task,
                                          std::size_t bytes);
  /// Queues without waiting (`batch=ok`). Errors that occur at the commit are lost, as the client accepts; a write that
  /// cannot be queued is an error of this call (overloaded). `target` must not refer to the id in `write`; the same
  /// holds for write_local.
  Expected<void> write_unacknowledged(const DocumentTarget& target, storage::DocumentWrite write);
  /// Returns when all writes that write_unacknowledged() has queued before are committed, or have failed.
  Task<void> wait_for_unacknowledged() { co_await unacknowledged_.wait_for_accepted(); }
  /// Packs the body before its write is queued, if this database has packed bodies and it may be of use. On the
  /// caller's thread: large bodies only on a worker.
  void pack(storage::DocumentWrite& write) const;
  Task<Expected<std::uint64_t>> write_local(DocumentTarget target, storage::LocalDocumentWrite write);
  Task<Expected<std::uint64_t>> write_local(storage::LocalDocumentWrite write);
  Task<Expected<std::vector<std::vector<storage::Revision>>>> purge(std::vector<storage::PurgeRequest> requests);

  // Sequences

  /// All sequences are above it: see storage::DatabaseRecord.
  storage::Sequence sequence_base() const { return record_.sequence_base; }
  /// What positions in this database are sealed with (base/token.h), so that those in the database whose name it has
  /// taken over are not valid here. Empty: it has taken none.
  std::string_view token_origin() const {
    return sequence_base() == 0 ? std::string_view() : std::string_view(instance_tag());
  }
  /// The number of changes after `position` that readers may see, at most.
  storage::Sequence changes_after(storage::Sequence position) const {
    const storage::Sequence newest = watermark();
    return newest - std::min(newest, std::max(position, sequence_base()));
  }
  /// Every change up to this sequence is committed and visible.
  storage::Sequence watermark() const { return sequences_->watermark(); }
  /// Every acknowledged write has its sequence at or below this. The watermark may be lower while a physical partition
  /// still commits; readers that must not miss an acknowledged write wait until the watermark reaches this.
  storage::Sequence committed_sequence() const { return sequences_->committed(); }
  /// Every write that a read started now sees has its sequence at or below this: LMDB shows a commit while its last
  /// sync is still running. An index that has reached this sequence never returns less than an earlier read of a
  /// document.
  Expected<storage::Sequence> visible_sequence() const;
  /// Format (sequence of a database):
  ///   sequence := number "-" feed tag ["." floor]            only if the floor is above the number
  std::string format_sequence(storage::Sequence sequence) const;
  /// Accepts `n`, `n-<tag>`, `n-<tag>.<floor>`, `now`, and all of them in JSON quotes; another incarnation's tag gives
  /// 0, without a floor: the reader may have seen what was deleted since. Error bad_request otherwise.
  Expected<FeedPosition> parse_sequence(std::string_view text) const;

  /// Waits until the watermark exceeds `after`, the deadline passes, or the database is deleted, or another one takes
  /// over its name; true if it grew. A waiter costs only memory.
  Task<bool> wait_for_change(storage::Sequence after, std::chrono::steady_clock::time_point deadline);

  // For the layers above

  /// On return everything that snapshots have shown so far is on the disk. Must be called before data derived from a
  /// snapshot is written to other files, or that data could survive a power loss that its source does not.
  Expected<void> make_durable();

  /// What the engine's factory made for this database; null if the engine was opened without a factory.
  DatabaseExtension* extension() const { return extension_.get(); }
  /// Turns of functions that work on one logical partition, by partition key: see run_optimistically.
  Turns& turns() { return *turns_; }

 private:
  friend class Engine;
  friend class DatabaseRegistry;
  friend class PartitionMove;
  class Successor;

  // For the engine and its registry

  /// Opens the partitions' files, finds the last sequence, attaches the extension.
  Expected<void> open(const std::function<std::unique_ptr<DatabaseExtension>(Database&)>& extensions);
  void remove_stray_partitions() const;
  void mark_deleted();
  void shut_down();
  /// Closes stores that are not being read; returns their number.
  std::size_t close_idle(std::uint64_t last_used_before_ms);
  std::size_t open_store_count() const;
  std::uint64_t last_used_ms() const;

  /// The name is in the catalog.
  void renamed(const std::string& name);
  void set_name(std::string_view name);
  /// Another database has its name.
  void replaced();

  // Physical partitions, also of a split or a merge

  std::shared_ptr<storage::PhysicalPartition> make_partition(const storage::PartitionMapEntry& range) const;
  void attach(storage::PhysicalPartition& partition);
  void publish(std::unique_ptr<const PartitionMap> map);
  std::shared_ptr<storage::WriteSuccessor> successor();
  std::vector<storage::CompactionQueue::Target> partition_targets();
  /// The physical partitions, and those indexes that are known without reading design documents.
  std::vector<storage::CompactionQueue::Target> compaction_targets();

  // Writing

  bool packs_bodies() const;
  void on_commit(bool design_documents_changed);
  void scatter(std::span<const DocumentTarget> targets, std::vector<storage::DocumentWrite>& writes,
               storage::WriteOptions options, storage::PhysicalPartition::Completion& done);
  void scatter_purge(std::vector<storage::PurgeRequest>& requests, storage::PhysicalPartition::PurgeCompletion& done);

  Engine& engine_;
  storage::DatabaseRecord record_;
  std::atomic<const std::string*> name_{nullptr};
  std::vector<std::unique_ptr<const std::string>> names_;  ///< all names it had, as readers may still use them
  std::filesystem::path folder_;
  std::atomic<const PartitionMap*> map_{nullptr};
  std::vector<std::unique_ptr<const PartitionMap>> maps_;  ///< all maps there were, as readers may still use them
  std::shared_ptr<storage::SequenceAllocator> sequences_;
  std::unique_ptr<DatabaseExtension> extension_;
  DatabaseMeter meter_;
  ChangeNotifier changes_;
  const std::shared_ptr<Turns> turns_;
  std::atomic<bool> deleted_{false};
  std::atomic<bool> may_lack_tombstones_{false};
  std::atomic<std::chrono::steady_clock::time_point> client_without_merges_{
      std::chrono::steady_clock::time_point::min()};
  Gate gate_;
  AcceptedWork unacknowledged_;
  std::atomic<std::uint32_t> times_replaced_{0};
  bool registered_ = false;  ///< used by the engine: the name is busy while the database closes
  std::atomic<std::uint32_t> revs_limit_;
  mutable std::mutex facts_mutex_;  ///< guards security_, maps_, names_ and changes of record_
  std::atomic<std::shared_ptr<const std::string>> security_;
  std::atomic<std::shared_ptr<const DatabaseDefinition>> definition_;
};

}  // namespace octavo::partitioning
