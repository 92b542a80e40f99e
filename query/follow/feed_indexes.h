#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/jobs/background_jobs.h"
#include "base/published.h"
#include "partitioning/change_notifier.h"
#include "partitioning/engine.h"
#include "query/follow/active_tasks.h"
#include "query/follow/feed_follower.h"
#include "query/follow/feed_index.h"
#include "query/follow/feed_index_kind.h"

namespace octavo::query {

/// Limit of views and search indexes per database, counted together: the same as for JSON indexes.
inline constexpr std::size_t feed_indexes_per_database_max = 1'000;

/// An index as queries see it. A value; while it exists, the files are kept.
struct FeedIndexView {
  std::string_view kind;  ///< FeedIndexKind::name
  FeedIndexDefinition definition;
  std::shared_ptr<FeedIndex> index;  ///< null if its files cannot be opened: `failure` has the reason
  std::optional<Error> failure;
  /// The design document's former index, for queries that do not wait (`update=false`), until `index` has caught up for
  /// the first time. It no longer follows the feed.
  std::shared_ptr<FeedIndex> previous;
};

/// All indexes of a database that follow its feed, at one moment.
struct FeedIndexCatalog {
  std::vector<FeedIndexView> indexes;
  bool over_limit = false;  ///< the design documents define more than are built (index_allowance.h)

  /// `name` as in FeedIndexDefinition. nullptr: the design document defines no such index.
  const FeedIndexView* find(std::string_view kind, std::string_view design_document, std::string_view name) const;
};

/// The indexes of one open database that follow its feed (feed_index.h). Reads the definitions in design documents,
/// creates and removes the files, and feeds each index in the background. Owned by the DatabaseServices.
///
/// Each index has a follower of its own (feed_follower.h) on the engine's indexers; indexes whose functions are slow
/// leave one indexer to the others. A new index begins at sequence 0; after a crash an index continues where it was.
/// While no query waits the followers are woken a little later, so that many small commits make one batch. An index
/// that fails does not affect the others.
///
/// Folders: <database>/<kind>-<identity>. Beside an index's own files lies `definition.json`, from which the index is
/// made again after a restart although the design document has changed.
///
/// Format (file definition.json):
///   {"content":text,"owners":[[design document,name],…]}
///
/// Thread-safe. Design documents are read on first use, so an idle database costs nothing.
class FeedIndexes {
 public:
  FeedIndexes(partitioning::Database& database, ActiveTasks* tasks, const std::vector<FeedIndexKind>& kinds);
  ~FeedIndexes();
  FeedIndexes(const FeedIndexes&) = delete;
  FeedIndexes& operator=(const FeedIndexes&) = delete;

  // These are called as DatabaseExtension describes.
  void design_documents_changed();
  void committed();
  void shut_down();
  std::size_t open_store_count() const;
  std::uint64_t last_used_ms() const;
  std::size_t close_idle(std::uint64_t last_used_before_ms);

  /// The present indexes. Reads the design documents if they have changed since the last call, so that every design
  /// document whose write was acknowledged is included. Otherwise takes no lock that threads share.
  Expected<std::shared_ptr<const FeedIndexCatalog>> catalog();
  /// The indexes when the design documents were read last; null: they were not read yet.
  std::shared_ptr<const FeedIndexCatalog> last_catalog() const { return catalog_.load(); }
  /// From now on, the index of `design_document` that is built on demand (FeedIndexDefinition::on_demand) is in the
  /// catalog and follows the feed, also after a restart. Blocking.
  Expected<void> demand(std::string_view design_document);
  /// False if `catalog` would have to read design documents and open indexes, which must happen on a worker.
  bool is_loaded() const;

  /// Whether a query that begins now need not wait for `index`. Some reads of one row.
  Expected<bool> is_current(const FeedIndex& index, storage::Sequence sequence) const;
  /// Waits until `index` has all changes up to `sequence` and has processed all purges so far. Errors: the reason why
  /// it cannot be updated (disk_full, function_failed, …), not_found if the database or the index is gone, timeout.
  Task<Expected<void>> wait_until_current(std::shared_ptr<FeedIndex> index, storage::Sequence sequence,
                                          std::chrono::steady_clock::time_point deadline);
  /// Follows the feed in the background up to the present, for a query that does not wait (`update=lazy`).
  void update(const FeedIndex& index);
  /// Whether a job is updating `index` now, and how many queries wait for it.
  struct Activity {
    bool updating = false;
    int waiting = 0;
  };
  Activity activity(const FeedIndex& index) const;

  /// Up to here the feed was read by all indexes that make progress.
  storage::Sequence followed_through() const;

  /// False: no design document defines this index any more, or the database is shut down.
  bool is_wanted(const FeedIndex& index) const;
  /// Removes the files of indexes that no design document defines, unless they are being read (`_view_cleanup`). They
  /// are also removed automatically, but some may remain after a failure of the disk. Blocking.
  Expected<void> clean_up();

 private:
  struct Follower;
  using FollowerPtr = std::shared_ptr<Follower>;
  struct Wanted;

  // feed_indexes.cpp: definitions. All called with load_mutex_ held.
  Expected<void> load();
  void load_in_background();
  Expected<std::vector<Wanted>> read_definitions();
  Expected<FollowerPtr> open(const FeedIndexKind& kind, const FeedIndexDefinition& definition);
  Expected<std::optional<Error>> open_wanted(const std::vector<Wanted>& wanted);
  void adopt_folders();
  void write_definitions();
  void retire_unwanted();
  void remove_strays();
  void publish();
  void remove_retired();
  bool is_asked_for(const FeedIndexKind& kind, const FeedIndexDefinition& definition) const;
  std::filesystem::path folder_of(const FeedIndexKind& kind, std::string_view identity) const;

  // feed_index_following.cpp: which followers are woken, and when.
  FollowerPtr follower_of(const FeedIndex& index) const;
  void wake_all(bool only_awaited);
  void caught_up(Follower& follower);

  partitioning::Database& database_;
  const std::vector<FeedIndexKind>& kinds_;
  const storage::Sequence opened_at_;  ///< last sequence of the database at its opening

  std::atomic<std::uint64_t> changes_{1};
  std::atomic<std::uint64_t> changes_loaded_{0};
  std::atomic<bool> unopened_{false};  ///< an index could not be opened, for a reason that may be temporary
  std::atomic<bool> load_planned_{false};
  std::atomic<bool> reopening_planned_{false};
  std::atomic<bool> removal_planned_{false};
  std::mutex load_mutex_;  ///< serializes loads; guards loaded_
  bool loaded_ = false;
  bool over_limit_ = false;  ///< of the last load

  mutable std::mutex mutex_;                     ///< guards all members below up to the atomics
  std::set<std::string, std::less<>> demanded_;  ///< design documents whose indexes on demand are built
  std::vector<FeedIndexView> views_;
  std::vector<FollowerPtr> followers_;  ///< wanted, or previous
  std::vector<FollowerPtr> retired_;    ///< no longer wanted; queries may still read them

  Published<FeedIndexCatalog> catalog_;
  std::atomic<bool> has_followers_{false};
  std::atomic<bool> wake_planned_{false};
  partitioning::ChangeNotifier progress_;
  FollowContext context_;
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::query
