#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "partitioning/consumption.h"
#include "partitioning/partition_map.h"
#include "storage/catalog.h"
#include "storage/physical_partition.h"

namespace octavo::partitioning {

class Database;
class Engine;
class Turns;

/// What the query layer attaches to an open database: its index manager. Made by the factory given to the Engine.
class DatabaseExtension {
 public:
  virtual ~DatabaseExtension() = default;
  /// Design documents were written (durably). Any thread; must not block.
  virtual void design_documents_changed() = 0;
  /// A group was committed: the feed grew. Writer thread; must not block.
  virtual void committed() = 0;
  /// Database::definition() is another one. Must not block.
  virtual void definition_changed() {}
  /// The database is being deleted or the server stops: end background work, wait for it, close files. Idempotent.
  virtual void shut_down() = 0;

  /// A split prepares, or has given up, a physical partition that is in no range. It takes documents over after the
  /// first call returned. Error: those of the disk.
  virtual Expected<void> partition_added(std::size_t /*place*/) { return {}; }
  virtual void partition_removed(std::size_t /*place*/) {}
  /// Whether what is derived from the documents is as complete there as in `source`.
  virtual bool is_partition_ready(std::size_t /*place*/, std::size_t /*source*/) { return true; }
  /// Database::partition_map() is another one.
  virtual void partitions_changed() {}

  /// Environments of its own, which count and are closed with the database's: as the functions of Database.
  virtual std::size_t open_environment_count() const { return 0; }
  virtual std::uint64_t last_used_ms() const { return 0; }
  virtual std::size_t close_idle(std::uint64_t /*last_used_before_ms*/) { return 0; }
};

/// What the door that made a database keeps with it (storage::DatabaseRecord::definition), and what that door has read
/// from it, once.
struct DatabaseDefinition {
  explicit DatabaseDefinition(std::string json) : text(std::move(json)) {}
  const std::string text;
  mutable std::atomic<std::shared_ptr<const void>> parsed;
};

/// An open database: a partition map over physical partitions, one sequence for all. The one way in for both doors.
///
/// Thread-safe. Held by shared_ptr for the length of a request; after the database is deleted, operations fail with
/// not_found. Reads are synchronous and short; writes are awaited.
class Database : public std::enable_shared_from_this<Database> {
 public:
  Database(Engine& engine, storage::DatabaseRecord record);
  ~Database();

  const std::string& name() const { return record_.name; }
  /// Hexadecimal tag of this incarnation: a re-created database has another.
  const std::string& instance_tag() const { return record_.instance_tag; }
  bool partitioned() const { return record_.partitioned; }
  bool auto_index() const { return record_.auto_index; }
  storage::KeyScheme key_scheme() const { return record_.key_scheme; }
  /// Never null; the text is empty in databases of the Couch door. Who keeps what was read from it keeps it.
  std::shared_ptr<const DatabaseDefinition> definition() const { return definition_.load(std::memory_order_acquire); }
  /// Durable on return. Errors: not_found, those of the disk.
  Expected<void> set_definition(std::string text);
  /// The physical partitions as they are now. Stays as it is, and lives as long as the database: whoever looks at
  /// ranges and places together takes it once. Of all the changes up to a watermark that was read *before*, its
  /// partitions have every one.
  const PartitionMap& partition_map() const { return *map_.load(std::memory_order_acquire); }
  /// The places of the physical partitions now.
  const std::vector<std::size_t>& places() const { return partition_map().places(); }
  /// False: it was split.
  bool is_current(std::size_t place) const { return partition_map().range_of(place) != nullptr; }
  /// Documents may end by themselves: what is derived from them may tell of some that are no more.
  bool has_time_to_live() const {
    const PartitionMap& map = partition_map();
    return map.partition(map.places().front())->has_time_to_live();
  }
  std::int64_t created_s() const { return record_.created_s; }
  std::size_t physical_partition_count() const { return partition_map().size(); }
  const std::filesystem::path& folder() const { return folder_; }
  Engine& engine() { return engine_; }
  bool deleted() const { return deleted_.load(std::memory_order_acquire); }

  /// Snapshot of the physical partition where `document_id` lives (or a partition key's).
  Expected<storage::Snapshot> snapshot_for_document(std::string_view document_id) const;
  Expected<storage::Snapshot> snapshot_for_partition_key(std::string_view partition_key) const;
  /// A place that was split meanwhile is readable for some time still, as it was at that moment; then it fails with
  /// overloaded and the word `range_gone`.
  Expected<storage::Snapshot> snapshot(std::size_t place) const;
  std::size_t locate_document(std::string_view document_id) const;
  /// As above, in a map that was taken earlier.
  std::size_t locate_document(const PartitionMap& map, std::string_view document_id) const;
  std::size_t locate_partition_key(std::string_view partition_key) const;
  std::size_t locate_partition_key(const PartitionMap& map, std::string_view partition_key) const;
  storage::PhysicalPartition& physical_partition(std::size_t place) { return *partition_map().partition(place); }

  /// What requests spend here, and may spend. Writing asks for admission by itself (throttled in the results of the
  /// documents whose physical partition has used up its throughput); whoever reads asks first, and all say at the end
  /// what they have spent.
  Consumption& consumption() { return consumption_; }
  const Consumption& consumption() const { return consumption_; }
  Expected<void> admit_document(std::string_view document_id) const;
  /// Absent: the request is about all of them.
  Expected<void> admit_partition_key(const std::optional<std::string_view>& partition_key) const;
  void spend_on_document(std::string_view document_id, RequestUnits units) noexcept;
  void spend_on_partition_key(const std::optional<std::string_view>& partition_key, RequestUnits units) noexcept;
  /// Evenly.
  void spend_on_places(std::span<const std::size_t> places, RequestUnits units) noexcept;

  /// Writes documents wherever they live; one result per write, in order. `partition_key` of each is filled in here.
  /// Precondition: ids checked. Resumes on the caller's I/O thread once durable. `atomic` requires that all ids share
  /// one partition key (bad_request in every result otherwise).
  Task<storage::PhysicalPartition::DocumentResults> write(std::vector<storage::DocumentWrite> writes,
                                                          storage::WriteOptions options = {});
  /// Runs `task` as one transaction of the physical partition in which `partition_key` lives; it sets the partition
  /// keys of its edits itself. Resumes once durable. `admitted`: it was, before the work that this ends.
  /// See PhysicalPartition::run_transaction.
  Task<Expected<void>> run_transaction(std::string_view partition_key, storage::PhysicalPartition::TransactionTask task,
                                       std::size_t bytes, bool admitted = false);
  /// As above, for edits of several partition keys that live in one physical partition. Fails with the word
  /// `range_gone` when it was split.
  Task<Expected<void>> run_transaction_in(std::size_t place, storage::PhysicalPartition::TransactionTask task,
                                          std::size_t bytes);
  /// Queues without waiting (`batch=ok`). Errors that show only at commit are lost, as the client asked.
  Expected<void> write_unacknowledged(std::vector<storage::DocumentWrite> writes);
  Task<Expected<std::uint64_t>> write_local(storage::LocalDocumentWrite write);
  Task<Expected<std::vector<std::vector<storage::Revision>>>> purge(std::vector<storage::PurgeRequest> requests);

  /// Every change up to here is committed and visible.
  storage::Sequence watermark() const { return sequences_->watermark(); }
  /// Every write acknowledged so far has its sequence at or below this. The watermark may be lower for a moment, while
  /// a physical partition still commits: whoever must not miss an acknowledged write waits until the watermark is here.
  storage::Sequence committed_sequence() const { return sequences_->committed(); }
  /// As above, of every write that a read begun now sees: LMDB shows a commit while its last sync is still under way.
  /// An index that has this much never answers with less than a document read before.
  Expected<storage::Sequence> visible_sequence() const;
  /// `<n>-<instance tag>`.
  std::string format_sequence(storage::Sequence sequence) const;
  /// Accepts `n`, `n-<tag>`, `now`, and `"n-tag"` in JSON quotes; another incarnation's tag gives 0. Error bad_request
  /// otherwise.
  Expected<storage::Sequence> parse_sequence(std::string_view text) const;

  /// Waits until the watermark exceeds `after`, the deadline passes, or the database is deleted; true when it grew.
  /// Costs nothing while waiting but memory.
  Task<bool> wait_for_change(storage::Sequence after, std::chrono::steady_clock::time_point deadline);

  Expected<storage::DocumentStatistics> statistics() const;  ///< sum over the physical partitions
  Expected<storage::Environment::Sizes> file_sizes() const;
  Expected<std::uint64_t> purge_count() const;

  std::uint32_t revs_limit() const { return revs_limit_.load(std::memory_order_relaxed); }
  Expected<void> set_revs_limit(std::uint32_t limit);
  /// `_security`, as JSON text; "{}"-like default of CouchDB when never set is the door's business: here nullopt.
  std::shared_ptr<const std::string> security() const;
  Expected<void> set_security(std::string json);

  /// Everything that snapshots have shown so far is on the disk on return: whoever keeps something derived from it in
  /// files of its own must call this before it writes them, or they could outlive what they tell of.
  Expected<void> make_durable();

  DatabaseExtension* extension() const { return extension_.get(); }
  /// Whose functions work on a logical partition, by its key: see run_optimistically.
  Turns& turns() { return *turns_; }

 private:
  friend class Engine;
  friend class PartitionSplit;
  class Successor;

  /// Opens the partitions' files, finds the last sequence, attaches the extension.
  Expected<void> open(const std::function<std::unique_ptr<DatabaseExtension>(Database&)>& extensions);
  void on_commit(bool design_documents_changed);
  void mark_deleted();
  /// Closes environments that nobody reads; how many were closed.
  std::size_t close_idle(std::uint64_t last_used_before_ms);
  std::size_t open_environment_count() const;
  std::uint64_t last_used_ms() const;
  void shut_down();
  std::shared_ptr<storage::PhysicalPartition> make_partition(const storage::PartitionMapEntry& range) const;
  void attach(storage::PhysicalPartition& partition);
  void remove_stray_partitions() const;
  void publish(std::unique_ptr<const PartitionMap> map);
  void fill_partition_keys(std::vector<storage::DocumentWrite>& writes) const;
  void scatter(std::vector<storage::DocumentWrite>& writes, storage::WriteOptions options,
               const std::vector<std::optional<Error>>& refused, storage::PhysicalPartition::Completion& done);
  void scatter_purge(std::vector<storage::PurgeRequest>& requests, storage::PhysicalPartition::PurgeCompletion& done);
  std::shared_ptr<storage::WriteSuccessor> successor();
  std::vector<std::optional<Error>> refused_places() const;

  Engine& engine_;
  storage::DatabaseRecord record_;
  std::filesystem::path folder_;
  std::atomic<const PartitionMap*> map_{nullptr};
  std::vector<std::unique_ptr<const PartitionMap>> maps_;  ///< all that there were: whoever has one may keep it
  std::shared_ptr<storage::SequenceAllocator> sequences_;
  std::unique_ptr<DatabaseExtension> extension_;
  Consumption consumption_;
  ChangeNotifier changes_;
  const std::shared_ptr<Turns> turns_;
  std::atomic<bool> deleted_{false};
  bool registered_ = false;  ///< the engine's: its name is busy while it closes
  std::atomic<std::uint32_t> revs_limit_;
  mutable std::mutex facts_mutex_;  ///< guards security_, maps_ and changes of record_
  std::atomic<std::shared_ptr<const std::string>> security_;
  std::atomic<std::shared_ptr<const DatabaseDefinition>> definition_;
};

}  // namespace octavo::partitioning
