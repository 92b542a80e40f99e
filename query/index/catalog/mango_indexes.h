#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/jobs/background_jobs.h"
#include "base/published.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database.h"
#include "query/follow/active_tasks.h"
#include "query/index/automatic_index.h"
#include "query/index/catalog/index_catalog.h"
#include "query/index/catalog/query_cache.h"
#include "query/index/global/global_indexes.h"
#include "query/index/index_definition.h"
#include "query/index/local/local_indexes.h"
#include "storage/partition/unique_keys.h"

namespace octavo::query {

/// What the definition of a database says about its indexes. A value.
struct IndexPolicy {
  std::shared_ptr<const storage::UniqueKeys> unique_keys = {};  ///< null: none
  AutomaticIndexPtr automatic = {};                             ///< of a container's indexing policy; null: none
};

/// The local, global and automatic indexes of one open database, for `_find` and SQL: reads their definitions from the
/// design documents and the policy, and creates, builds, updates and drops them in the background. Owned by the
/// database's DatabaseServices.
///
/// Local indexes change with their documents (local_indexes.h). Global ones follow the feed (global_indexes.h).
///
/// Thread-safe. Definitions are read on first use, so an idle database costs nothing.
class MangoIndexes {
 public:
  /// `tasks` may be null.
  MangoIndexes(partitioning::Database& database, ActiveTasks* tasks, IndexPolicy policy);
  ~MangoIndexes();
  MangoIndexes(const MangoIndexes&) = delete;
  MangoIndexes& operator=(const MangoIndexes&) = delete;

  /// For partitions that are added from now on, and for the automatic index after definitions_changed().
  void set_policy(IndexPolicy policy);
  /// Design documents, or the policy, have changed. Must not block.
  void definitions_changed();
  // These are called as DatabaseExtension describes.
  void committed();
  Expected<void> partition_added(std::size_t partition_id);
  void partition_removed(std::size_t partition_id);
  bool is_partition_ready(std::size_t partition_id, std::size_t source);
  void partitions_changed();
  void shut_down();
  std::size_t open_store_count() const { return globals_.open_store_count(); }
  std::uint64_t last_used_ms() const { return globals_.last_used_ms(); }
  std::size_t close_idle(std::uint64_t last_used_before_ms) { return globals_.close_idle(last_used_before_ms); }

  partitioning::Database& database() { return database_; }
  /// How much of the automatic index of the present policy is built; 100: all, or the policy has no index.
  std::uint32_t automatic_progress_percent();

  /// The present indexes. Reads the design documents if they have changed since the last call (some microseconds each),
  /// otherwise takes no lock that threads share. Includes every design document whose write was acknowledged.
  Expected<std::shared_ptr<const IndexCatalog>> catalog();
  /// The indexes when the design documents were read last; null: they were not read yet.
  std::shared_ptr<const IndexCatalog> last_catalog() const { return catalog_.load(); }

  /// Whether a query that begins now need not wait for `index`. Some reads of one row.
  Expected<bool> is_current(const GlobalIndex& index, storage::Sequence sequence) const {
    return globals_.is_current(index, sequence);
  }
  /// See GlobalIndexes::followed_through.
  storage::Sequence followed_through() const { return globals_.followed_through(); }
  /// See GlobalIndexes::is_wanted.
  bool is_wanted(const GlobalIndex& index) const { return globals_.is_wanted(index); }
  /// Removes folders of global indexes that no design document defines. They are also removed automatically, but some
  /// may remain after a failure of the disk. Blocking.
  Expected<void> clean_up();
  /// Plans of queries of this database; cleared whenever the catalog changes.
  QueryCache& cache() { return cache_; }

  /// Waits until `index` has all changes up to `sequence` and has processed all purges so far. Errors: the failure that
  /// prevents updating the index (disk_full, …), not_found if the database is deleted, timeout at the deadline.
  Task<Expected<void>> wait_until_current(std::shared_ptr<GlobalIndex> index, storage::Sequence sequence,
                                          std::chrono::steady_clock::time_point deadline) {
    return globals_.wait_until_current(std::move(index), sequence, deadline);
  }
  /// Waits until the index `identity` is built (for a local one in the physical partition `partition_id`); returns the
  /// catalog that contains it. nullopt at the deadline, or if the index is gone.
  Task<Expected<std::shared_ptr<const IndexCatalog>>> wait_until_ready(std::string identity, std::size_t partition_id,
                                                                       std::chrono::steady_clock::time_point deadline);

  // Absence indexes (AutomaticIndex::of_absence). The first query that is sorted by a path asks for that of the path;
  // it stays as long as the policy includes the path.

  static constexpr std::size_t absences_max = 64;
  /// Has the absence index of a path of the automatic index made in the background. False: it is not worth waiting
  /// for: a query has waited in vain, or there are absences_max, or the policy does not include the path.
  bool want_absence(const FieldPath& path);
  /// Whether the absence index of `path` exists or is being made.
  bool is_making_absence(const FieldPath& path) const;
  /// Waits until the catalog has the absence index of `path`, or until the deadline; returns the catalog of then.
  /// Errors: as of catalog().
  Task<Expected<std::shared_ptr<const IndexCatalog>>> wait_for_absence(FieldPath path,
                                                                       std::chrono::steady_clock::time_point deadline);

 private:
  Expected<void> load();
  void load_in_background();
  Expected<std::vector<IndexDefinitionPtr>> read_definitions();
  IndexDefinitionPtr read_automatic() const;
  Expected<std::vector<IndexDefinitionPtr>> read_absences(const IndexDefinition* automatic);
  using LocalSets = std::vector<std::shared_ptr<const LocalIndexes::Indexes>>;  ///< by partition id
  std::optional<IndexView> find_automatic(const LocalSets& locals) const;
  IndexView ready_view(const IndexDefinitionPtr& definition, const LocalSets& locals) const;
  /// By partition id; null if there is no such partition, or no local indexes are kept.
  using Locals = std::vector<std::shared_ptr<LocalIndexes>>;
  const Locals& locals() const { return *locals_.load(std::memory_order_acquire); }
  void set_locals(Locals locals);
  void reconcile(LocalIndexes& indexes, std::vector<IndexDefinitionPtr> wanted);
  bool is_wanted_local(const LocalIndexes::Index& index);
  void publish();
  void publish_or_retry();
  IndexPolicy policy() const;

  partitioning::Database& database_;
  ActiveTasks* const tasks_;
  std::atomic<const Locals*> locals_{nullptr};
  std::mutex locals_mutex_;                                ///< serializes changes; guards all_locals_
  std::vector<std::unique_ptr<const Locals>> all_locals_;  ///< all lists there were, as readers may still use them

  /// Changes of design documents, and how many of them the catalog includes: while they differ it must be read again.
  std::atomic<std::uint64_t> changes_{1};
  std::atomic<std::uint64_t> changes_loaded_{0};
  std::mutex load_mutex_;                          ///< serializes loads; guards loaded_ and wanted_locals_
  std::vector<IndexDefinitionPtr> wanted_locals_;  ///< indexes that all physical partitions must have
  bool loaded_ = false;

  mutable std::mutex mutex_;  ///< guards all members below up to the atomics
  std::vector<IndexDefinitionPtr> published_definitions_;
  IndexPolicy policy_;
  IndexDefinitionPtr automatic_;  ///< of the present policy; null: it has none
  struct Absence {
    IndexDefinitionPtr definition;
    bool waited_in_vain = false;
  };
  std::vector<Absence> absences_;  ///< all that the physical partitions must have
  bool shut_down_ = false;

  Published<IndexCatalog> catalog_;
  std::atomic<bool> load_planned_{false};
  partitioning::ChangeNotifier progress_;
  QueryCache cache_;
  GlobalIndexes globals_;
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::query
