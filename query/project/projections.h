#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/jobs/background_jobs.h"
#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "partitioning/database_extension.h"
#include "query/follow/commit_wake.h"
#include "query/follow/feed_follower.h"
#include "query/project/projection.h"

namespace octavo::query::project {

/// The projections of an open database: those of which it is the source, which it keeps up to date in the background,
/// and the names of those that write into it, which the writers of its documents need.
///
/// Thread-safe. As long as there is a projection the database stays open.
class Projections {
 public:
  /// Gives a database that takes the place of another one what the APIs keep beside its documents. Blocks. Null:
  /// nothing.
  using Carry = Expected<void> (*)(partitioning::Database& source, partitioning::Database& successor);
  Projections(partitioning::Database& database, ActiveTasks* tasks, FormReader read_form, Carry carry = nullptr);
  ~Projections();

  // These block, as they write to the catalog.

  /// Whether add() would refuse a projection into a target that has nothing yet, and need not exist. Errors: as there.
  Expected<void> check_new(std::string_view name, const ProjectionDefinition& definition, RowTarget target,
                           std::span<const std::shared_ptr<partitioning::Database>> joined);
  /// Creates a projection. `target` and `joined`, by join, are its definition's. Errors: those of RowProgram::compile
  /// and add_projection; not_exclusive (conflict) if the target is to belong to it alone and has documents; unsupported
  /// without forms.
  Expected<void> add(std::string name, ProjectionDefinition definition, partitioning::Database& target,
                     std::span<const std::shared_ptr<partitioning::Database>> joined);
  /// The database that takes the place of a target: `create` makes it under a name. Its sequences and partition ids are
  /// above those of the target.
  struct NewTarget {
    RowTarget kind;
    std::function<Expected<std::shared_ptr<partitioning::Database>>(const std::string& name)> create;
  };
  /// Changes the definition, which must have the same target. The rows of the new one become known beside those of the
  /// old one, which are followed as before, and then take their place; with `new_target` they are made there, and it
  /// takes the place of the target. Another change meanwhile takes the place of this one. Errors: those of
  /// RowProgram::compile; not_found; conflict: `rev` is not the newest one, or the rows of an earlier change are
  /// just taking their place; bad_request: another target, or a joined database is the target; those of creating it.
  Expected<void> replace(std::string_view name, std::string_view rev, ProjectionDefinition definition,
                         partitioning::Database& target,
                         std::span<const std::shared_ptr<partitioning::Database>> joined, const NewTarget* new_target);
  /// Errors: not_found; conflict if `rev` is given and is not the newest one.
  Expected<void> remove(std::string_view name, std::optional<std::string_view> rev, bool keeps_rows);
  Expected<void> pause(std::string_view name, bool paused);
  Expected<void> begin_again(std::string_view name);

  static constexpr std::array<std::string_view, 7> states{"building", "active", "switching", "paused",
                                                          "waiting",  "failed", "removing"};
  struct View {
    ProjectionRecord record;
    Projection::Status status;
    std::optional<Projection::Status> next;   ///< of the changed definition, while its rows become known
    std::optional<std::string> next_failure;  ///< why they do not
    storage::Sequence watermark = 0;          ///< of the source
    storage::Sequence current_through = 0;    ///< every row is made of a state of its document not older than this
    FeedFollower::Times times;                ///< of all its inputs
    std::string_view state;                   ///< one of `states`
    std::optional<std::string> failure;       ///< why it waits, or has failed
  };
  std::vector<View> views();
  std::optional<View> view(std::string_view name);
  /// Waits until every row is made of a state of its document not older than this. Errors: not_found, timeout, why the
  /// projection makes no progress.
  Task<Expected<void>> wait_until_current(std::string_view name, storage::Sequence sequence,
                                          std::chrono::steady_clock::time_point deadline);

  /// Reads again which projections write into the database.
  void load_owners();
  /// See DatabaseExtension::hold_projections.
  std::shared_ptr<void> hold();
  /// See DatabaseExtension::projections_changed.
  void read_again();
  /// The physical partitions of the database have changed.
  void apply_owners();

  /// Opens the databases that have projections, so that these follow what was written before the server ended.
  static void resume(partitioning::Engine& engine);

  // These are called as DatabaseExtension describes.
  void add_commit_listener(std::weak_ptr<const partitioning::DatabaseExtension::CommitListener> listener);
  void committed();
  void shut_down();
  storage::Sequence followed_through() const;
  /// Those whose files are open, and changed definitions of them.
  std::vector<std::shared_ptr<Projection>> projections() const;
  std::size_t open_store_count() const;
  std::uint64_t last_used_ms() const;
  std::size_t close_idle(std::uint64_t last_used_before_ms);

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;
  struct Held;
  /// Reads from the catalog which projections there are, once. After an error it is tried again soon.
  Expected<void> load();
  Expected<void> load_once();
  void load_in_background();
  void plan_retry();
  void open_again();
  void remove_strays(const std::vector<ProjectionRecord>& records) const;
  Expected<RowTarget> kind_of(const partitioning::Database& target) const;
  Expected<std::vector<JoinedDatabase>> check(const ProjectionDefinition& definition, RowTarget target,
                                              std::span<const std::shared_ptr<partitioning::Database>> joined) const;
  EntryPtr open(ProjectionRecord record, bool is_hidden = false);
  std::shared_ptr<ProjectionState> open_former(const ProjectionRecord& record) const;
  Expected<void> drop_next(const EntryPtr& entry);
  void look_at_next(const EntryPtr& entry, const EntryPtr& next);
  Expected<bool> switch_to_next(const EntryPtr& entry, const EntryPtr& next);
  void note_unswapped(const EntryPtr& next, std::optional<Error> error);
  // projection_swap.cpp
  Expected<void> create_next_target(const EntryPtr& entry, const NewTarget& new_target);
  Expected<bool> swap_target(const EntryPtr& entry, const EntryPtr& next);
  Expected<std::vector<std::string>> hand_over_target(const EntryPtr& entry, const EntryPtr& next,
                                                      partitioning::Database& former,
                                                      partitioning::Database& successor);
  Expected<void> carry_over(partitioning::Database& former, partitioning::Database& successor) const;
  void drop_former_target(const EntryPtr& entry);
  void delete_unseen_targets(const ProjectionRecord& record) const;
  void take_over(const EntryPtr& entry);
  void replace_rows(const EntryPtr& entry);
  bool replace_rows_once(const EntryPtr& entry);
  Expected<void> change(const EntryPtr& entry, const std::function<void(ProjectionRecord&)>& edit);
  EntryPtr find(std::string_view name) const;
  std::vector<EntryPtr> entries() const;
  /// Those, and the changed definitions of those that have one.
  std::vector<EntryPtr> versions() const;
  void start(const EntryPtr& entry);
  void wake_all();
  void retry_refused();
  void finish_removal(const EntryPtr& entry);
  Expected<void> read_catalog_again();
  void close(const EntryPtr& entry);
  bool is_one_of_these(const EntryPtr& entry) const;
  Expected<void> drop(const EntryPtr& entry);
  View view_of(const Entry& entry) const;
  bool has_target(const ProjectionRecord& record) const;
  void plan_wake() {
    // The other context's are known to commit_wake_.
    if (function_context_.waiters.load(std::memory_order_relaxed) > 0) wake_all();
    commit_wake_.plan();
  }
  void follow_joins(Entry& entry);
  void tell_target(const ProjectionRecord& record) const;

  partitioning::Database& database_;
  const FormReader read_form_;
  const Carry carry_;
  const std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> any_{false};
  std::atomic<bool> retry_planned_{false};
  std::atomic<std::shared_ptr<const storage::DocumentOwners>> owners_;
  /// Tells this when a joined database has committed, until it is shut down.
  struct JoinListener;
  const std::shared_ptr<JoinListener> join_listener_;
  const std::shared_ptr<const partitioning::DatabaseExtension::CommitListener> on_join_commit_;
  std::atomic<bool> has_listeners_{false};
  std::mutex listeners_mutex_;                                                                   ///< guards listeners_
  std::vector<std::weak_ptr<const partitioning::DatabaseExtension::CommitListener>> listeners_;  ///< of others
  std::mutex change_mutex_;  ///< held while the list of projections changes

  mutable std::mutex mutex_;  ///< guards the members up to the empty line
  std::vector<EntryPtr> entries_;
  std::shared_ptr<partitioning::Database> keeps_open_;
  bool loaded_ = false;

  partitioning::ChangeNotifier progress_;
  FollowContext context_;
  FollowContext function_context_;  ///< of projections with a transform, which may be slow
  CommitWake commit_wake_{context_, [this] { wake_all(); }};
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::query::project
