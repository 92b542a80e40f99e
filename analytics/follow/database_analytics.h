#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <boost/asio/thread_pool.hpp>

#include "analytics/follow/definition.h"
#include "analytics/follow/followed_table.h"
#include "analytics/follow/groups.h"
#include "analytics/process/process.h"
#include "base/jobs/background_jobs.h"
#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "partitioning/engine.h"
#include "query/follow/feed_attachment.h"
#include "query/follow/feed_follower.h"

namespace octavo::analytics {

/// How long rows stay in the analytical store that a container asks for, -1: for ever; 0: it asks for none, or is not a
/// container. The program passes this function, so that no layer below the APIs knows what containers are.
using ContainerTtl = std::int64_t (*)(const partitioning::Database& database);

/// The analytical store of an open database: its definition, and what keeps its table up to date.
///
/// The table of another definition is built beside the one that answers, in the same file. Both follow the database.
/// When the new one is complete it takes the place of the other one in one transaction of DuckDB; then the definition
/// in the catalog changes. After a crash between the two the process says which of them the table has.
///
/// Thread-safe. As long as there is a store that is followed the database stays open.
class DatabaseAnalytics final : public query::FeedAttachment {
 public:
  /// `process`: null: analytics are not enabled, so nothing is followed. `pool`: for what waits for the process.
  DatabaseAnalytics(partitioning::Database& database, ContainerTtl read_ttl, Process* process,
                    boost::asio::thread_pool& pool, query::ActiveTasks* tasks);
  ~DatabaseAnalytics() override;

  // These block, as they write to the catalog.

  /// Begins the store, or gives it another definition, whose time a container decides that asks for a store: then its
  /// table is made again, unless only the time differs that rows stay: beside the one that answers, if that has all
  /// documents and keeps its group and name. Errors: those of Process::connect that do not pass; conflict: another
  /// database of the group has the name.
  Expected<void> define(Definition definition);
  /// Ends the store and removes its file. Errors: not_found: the database has no store; bad_request: the container asks
  /// for it.
  Expected<void> remove();
  /// The container asks for another time, for a store or for none any more. Returns at once.
  void container_changed();

  struct View {
    Definition definition;   ///< whose `json` has the name of the group
    TablePlace place;        ///< the table may not be there yet
    std::string_view state;  ///< disabled, building, following, waiting
    std::optional<Error> failure;
    storage::Sequence sequence = 0;
    storage::Sequence behind = 0;  ///< changes that the table lacks, at most
    /// What is being built beside the table, and is to take its place.
    struct Building {
      boost::json::object definition;
      std::optional<Error> failure;
      storage::Sequence sequence = 0;
      storage::Sequence behind = 0;
    };
    std::optional<Building> building;
  };
  /// nullopt: the database has no analytical store.
  std::optional<View> view();
  /// The table, for queries. Errors: not_found: the database has no analytical store; overloaded: the table is not
  /// built or opened yet; why it cannot be opened.
  Expected<TablePlace> table();
  /// The key of the database's group; empty: it has none, or no store. Reads the catalog.
  Expected<std::string> group() const;

  /// Waits until the table has what the database had up to `sequence`, and lacks what was purged. `built`: and until
  /// nothing is built beside it any more. Errors: not_found: there is no store; timeout at the deadline; why the table
  /// cannot be followed.
  Task<Expected<void>> wait(storage::Sequence sequence, bool built, std::chrono::steady_clock::time_point deadline);

  /// Opens the databases that have a store, so that they are followed after a restart.
  static void resume(partitioning::Engine& engine);

  void committed() override;
  void shut_down() override;
  storage::Sequence followed_through() const override;

 private:
  using TablePtr = std::shared_ptr<FollowedTable>;
  struct Tables {
    TablePtr answering;  ///< null: there is no store
    TablePtr building;   ///< beside it; null: nothing is
  };
  Tables tables() const;
  static std::uint64_t last_build(const Tables& tables);
  static void set_builds(const Tables& tables, std::uint64_t last);
  TablePtr make_table(const Definition& definition);
  TablePtr make_building(const Definition& definition);
  Expected<void> define_with_lock(Definition definition);
  Expected<void> define_in_new_file(Definition definition);
  Expected<void> remove_with_lock();
  Expected<void> follow_container();
  bool replace(const Tables& next);
  void change_building(const TablePtr& next);
  void plan_end_of_building(std::chrono::milliseconds delay);
  void end_building();
  boost::json::object shown(const Definition& definition) const;
  void remove_files_but(const std::string& id) const;
  void wake();

  partitioning::Database& database_;
  const ContainerTtl read_ttl_;
  Process* const process_;
  std::atomic<bool> any_{false};
  std::atomic<bool> planned_{false};
  std::mutex change_mutex_;  ///< held while the store is defined or removed, or its table is replaced

  mutable std::mutex mutex_;  ///< guards the members up to the empty line
  Tables tables_;
  std::shared_ptr<partitioning::Database> keeps_open_;
  bool stopped_ = false;

  partitioning::ChangeNotifier progress_;
  query::FollowContext context_;
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::analytics
