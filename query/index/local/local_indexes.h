#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/follow/active_tasks.h"
#include "query/index/automatic_index.h"
#include "query/index/index_definition.h"
#include "query/json/parsed_document.h"
#include "storage/partition/document_observer.h"
#include "storage/partition/physical_partition.h"
#include "storage/partition/snapshot.h"

namespace octavo::query {

/// The local indexes of one physical partition: entries change in the transaction of their documents, so a query never
/// sees one without the other.
///
/// Rows in the partition's index tree.
///
/// Format (rows of local indexes):
///   number:u32be partition key ':' entry key        → entry value                   (index_entry.h)
///   number:u32be kind:u8 …                          → …        of the automatic index (automatic_rows.h)
///   0:u32be 'I' number:u32be                        → identity[32] state:u8 cursor:sized definition (JSON)
///   0:u32be 'N'                                     → last number given: u32be
///   0:u32be 'S'                                     → stamp:u64, another one whenever the set of indexes changes
///
/// The writer maintains the indexes in these rows, not those in memory or in design documents: after a crash between
/// any two transactions the registry agrees with its entries, and building or dropping continues from there.
///
/// A new index is built in the background, in chunks that each are one transaction in the writer's queue. Documents
/// that change meanwhile are indexed at once, wherever building has got to: it then writes the same rows again, or
/// finds them.
///
/// The automatic index is one of them, also in databases without partitions. When its policy changes, the former index
/// continues to serve queries until the new one is ready.
///
/// Thread-safe, except reads_changes and document_changed, which the writer calls.
class LocalIndexes : public storage::DocumentObserver, public std::enable_shared_from_this<LocalIndexes> {
 public:
  enum class Stage : std::uint8_t { building, ready, dropping };
  struct Index {
    std::uint32_t number = 0;
    Stage stage = Stage::building;
    IndexDefinitionPtr definition;  ///< without design document and name, which do not affect the entries
    std::string cursor;             ///< while building: id of the last document indexed
  };
  using Indexes = std::vector<Index>;

  /// `partitioned`: whether the database is; if not, ids have no partition key.
  LocalIndexes(storage::PhysicalPartition& partition, ActiveTasks* tasks, std::string database,
               bool partitioned = true);
  ~LocalIndexes() override;

  Expected<bool> reads_changes(const storage::Transaction& transaction, storage::Tree index_tree) override;
  Expected<std::uint32_t> document_changed(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                           const storage::DocumentChange& change) override;

  /// Sets the indexes that the partition must have. Returns at once; the work is done in the writer's queue, and
  /// `changed` is called on its thread then, and whenever an index becomes ready.
  void reconcile(std::vector<IndexDefinitionPtr> wanted, std::function<void()> changed);
  /// Continues work that an error (a full disk) has stopped. Costs one atomic load if no work was stopped.
  void resume();
  /// The indexes as of the last commit. nullptr before the first reconcile().
  std::shared_ptr<const Indexes> indexes() const;
  /// The absence indexes that the partition has or is building, read from its registry.
  Expected<std::vector<IndexDefinitionPtr>> stored_absences() const;
  /// How much of the automatic index `identity` is built; 100: all.
  std::uint32_t automatic_progress_percent(std::string_view identity) const;
  /// Ends the background work after the running chunk; `changed` is not called after this returns.
  void shut_down();

  /// Key prefix of the entries of one logical partition.
  static std::string entry_prefix(std::uint32_t number, std::string_view partition_key);
  /// Whether the index exists and is complete in this snapshot. One lookup.
  static Expected<bool> is_ready(const storage::Snapshot& snapshot, std::uint32_t number);
  /// Number of the index `identity` if it exists and is complete in this snapshot; else 0. Reads all indexes' records.
  static std::uint32_t find_ready(const storage::Snapshot& snapshot, std::string_view identity);

 private:
  struct Chunk;
  struct Progress;
  Expected<void> refresh_cache(const storage::Transaction& transaction, storage::Tree tree);
  Expected<std::uint32_t> change_automatic(storage::WriteTransaction& transaction, storage::Tree index_tree,
                                           const Index& index, const storage::DocumentChange& change,
                                           const std::optional<IndexedDocument>& before,
                                           const std::optional<IndexedDocument>& after);
  Expected<void> scope_partition(storage::WriteTransaction& transaction, storage::Tree index_tree, const Index& index,
                                 std::string_view partition_key);
  Expected<void> run_reconcile(storage::WriteTransaction& transaction, storage::Tree tree,
                               const std::vector<IndexDefinitionPtr>& wanted, Chunk& chunk);
  Expected<void> run_chunk(storage::WriteTransaction& transaction, storage::Tree tree, Chunk& chunk);
  Expected<void> build(storage::WriteTransaction& transaction, storage::Tree tree, Indexes& all, Chunk& chunk);
  Expected<void> drop(storage::WriteTransaction& transaction, storage::Tree tree, const Index& index, Chunk& chunk);
  void step();
  void finished(const std::shared_ptr<Chunk>& chunk, const Expected<void>& result);
  void enqueue(const std::shared_ptr<Chunk>& chunk);
  void put_back(Chunk& chunk);
  void stall(const char* reason);
  void try_to_report(const Chunk& chunk, const Indexes& indexes);
  void report(const Chunk& chunk, const Indexes& indexes);

  const std::weak_ptr<storage::PhysicalPartition> partition_;
  ActiveTasks* const tasks_;
  const std::string database_;
  const bool partitioned_;

  // Used by the writer only.
  std::uint64_t cached_stamp_ = 0;
  bool cached_ = false;
  Indexes cache_;
  DocumentParser before_parser_;
  DocumentParser after_parser_;
  AutomaticIndex::Entries entries_before_;
  AutomaticIndex::Entries entries_after_;

  std::mutex callback_mutex_;  ///< held while `changed` is called; taken before mutex_
  mutable std::mutex mutex_;   ///< guards all members below
  std::shared_ptr<const Indexes> published_;
  std::optional<std::vector<IndexDefinitionPtr>> wanted_;  ///< not yet reconciled
  std::vector<IndexDefinitionPtr> named_;                  ///< the last wanted ones, with names, for reports
  std::function<void()> changed_;
  bool running_ = false;  ///< one of our tasks is in the writer's queue
  bool shut_down_ = false;
  std::vector<std::unique_ptr<Progress>> progress_;
  std::atomic<bool> stalled_{false};
};

}  // namespace octavo::query
