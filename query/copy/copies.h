#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "base/jobs/background_jobs.h"
#include "base/task.h"
#include "partitioning/change_notifier.h"
#include "query/copy/database_copy.h"
#include "query/follow/commit_wake.h"
#include "query/follow/feed_follower.h"

namespace octavo::query::copy {

/// What the APIs know of a database that takes the place of another one. The program passes it to DatabaseServices.
struct Succession {
  /// Gives the successor what the APIs keep beside the documents of the source, and it lacks: scripts. Blocks. Null:
  /// nothing.
  Expected<void> (*carry)(partitioning::Database& source, partitioning::Database& successor) = nullptr;
  /// The fact by which the successor answers requests with the key of the source until `grace` is over; nullopt: none
  /// is needed. Null: for no database.
  Expected<std::optional<storage::FactChange>> (*former_key)(const partitioning::Database& source,
                                                             const partitioning::Database& successor,
                                                             std::chrono::seconds grace) = nullptr;
};

/// What a database is called after another one has taken its name, unless a client names it.
std::string former_name_of(const partitioning::Database& database);

/// The copies that are made of an open database, and those that have ended.
///
/// Thread-safe. As long as there is a copy that has not ended the database stays open.
class Copies {
 public:
  Copies(partitioning::Database& source, ActiveTasks* tasks, project::FormReader read_form, Succession succession);
  ~Copies();

  static constexpr std::size_t kept_max = 20;  ///< the oldest ended ones are forgotten first

  // These block, as they write to the catalog.

  /// Begins a copy, or returns the id of the one with the same definition. Errors: bad_request (DatabaseCopy::check);
  /// conflict: the source is being copied already (copy_running), the target is not empty, or belongs to another copy
  /// or a projection (copy_target).
  Expected<std::string> add(CopyDefinition definition, partitioning::Database& target);
  Expected<void> pause(std::string_view id, bool paused);
  /// Ends the copy when its target has what was written to the source before the call: the target becomes an
  /// independent database. Errors: not_found, timeout, conflict (it is paused), why it makes no progress.
  Task<Expected<void>> finish(std::string id, std::chrono::steady_clock::time_point deadline);
  struct ChangeOver {
    std::string name;                    ///< what the source was called, and the target is called now
    std::chrono::microseconds paused{};  ///< how long writes waited
  };
  /// Ends the copy by giving its target the name of the source, which gets another one and takes no more writes.
  /// Requests that write wait meanwhile, for some milliseconds, and then go to the target. If it would take longer than
  /// `pause_max` they continue with the source, and it is tried again until the deadline. Errors: not_found; timeout;
  /// conflict: the copy is paused, or its target was not made to follow the source (copy_positions), or a projection
  /// cannot continue with the target (copy_projections); those of Engine::hand_over_name; why it makes no progress.
  Task<Expected<ChangeOver>> change_over(std::string id, ChangeOverRequest request,
                                         std::chrono::steady_clock::time_point deadline);
  /// Ends the copy where it is, and forgets it. A database whose name was given away by it takes writes again.
  /// `removes_target`: so that nothing is left of the copy, also after a crash. Of one that has ended the target stays.
  /// Error not_found.
  Expected<void> cancel(std::string_view id, bool removes_target);

  struct View {
    CopyRecord record;
    DatabaseCopy::Status status;
    storage::Sequence behind = 0;                 ///< changes of the source that the target lacks, at most
    std::string_view state;                       ///< copying, following, paused, waiting, failed, removing, done
    std::optional<std::string> failure;           ///< why it waits, or has failed
    std::uint64_t cut_over_attempts = 0;          ///< by itself, since the server began
    std::optional<std::string> cut_over_failure;  ///< of the last of them
  };
  std::vector<View> views();
  /// Error not_found.
  Expected<View> view(std::string_view id);

  /// Opens the databases that are being copied, so that the copies continue after a restart.
  static void resume(partitioning::Engine& engine);

  // These are called as DatabaseExtension describes.
  void committed();
  void shut_down();
  storage::Sequence followed_through() const;
  std::size_t open_store_count() const;
  std::uint64_t last_used_ms() const;
  std::size_t close_idle(std::uint64_t last_used_before_ms);

 private:
  struct Entry;
  using EntryPtr = std::shared_ptr<Entry>;
  class Follower;
  Expected<void> load();
  void load_in_background();
  void remove_strays(const std::vector<CopyRecord>& records) const;
  EntryPtr open(CopyRecord record);
  void start(const EntryPtr& entry);
  void wake_all();
  EntryPtr find(std::string_view id) const;
  EntryPtr running() const;
  Expected<void> store_record(const CopyRecord& record) const;
  Expected<void> change(const EntryPtr& entry, const std::function<void(CopyRecord&)>& edit);
  Expected<void> change(const EntryPtr& entry, const std::function<void(CopyRecord&)>& edit,
                        FunctionRef<Expected<void>(const CopyRecord& record)> store);
  /// The copy with this id, unless it is paused or makes no progress; null: it has ended.
  Task<Expected<EntryPtr>> find_running(std::string id);
  Task<Expected<void>> reach(EntryPtr entry, storage::Sequence wanted, std::chrono::steady_clock::time_point deadline);
  Expected<void> end(const EntryPtr& entry);
  /// `store`: makes it durable that the copy has ended.
  Expected<void> end(const EntryPtr& entry, FunctionRef<Expected<void>(const CopyRecord& record)> store,
                     bool removes_target = false);
  void cancel_again(const EntryPtr& entry);
  Expected<void> prepare_change_over(const CopyRecord& record) const;
  bool keeps_ids(const partitioning::Database& target, const CopyRecord& record) const;
  Task<Expected<bool>> write_all_queued();
  /// Tags of the databases whose projections are others now; nullopt: it did not succeed within the pause.
  Task<Expected<std::optional<std::vector<std::string>>>> try_change_over(EntryPtr entry,
                                                                          const ChangeOverRequest& request);
  Expected<std::vector<std::string>> hand_over_name(const EntryPtr& entry, const ChangeOverRequest& request);
  void look_at_change_over(const EntryPtr& entry);
  void begin_change_over(const EntryPtr& entry);
  void change_over_by_itself(const EntryPtr& entry);
  void tell_target(const CopyRecord& record) const;
  View view_of(const Entry& entry) const;

  partitioning::Database& source_;
  const project::FormReader read_form_;
  const Succession succession_;
  const std::shared_ptr<std::atomic<bool>> stopping_ = std::make_shared<std::atomic<bool>>(false);
  std::atomic<bool> any_{false};  ///< there may be one that has not ended
  std::mutex change_mutex_;       ///< held while the list of copies changes
  std::atomic<bool> changes_over_{false};

  mutable std::mutex mutex_;  ///< guards the members up to the empty line
  std::vector<EntryPtr> entries_;
  std::shared_ptr<partitioning::Database> keeps_open_;
  bool loaded_ = false;

  std::mutex attempt_mutex_;  ///< guards the members up to the empty line
  std::condition_variable attempt_has_ended_;
  bool attempt_runs_ = false;  ///< of a change-over that began by itself, on a thread of its own

  partitioning::ChangeNotifier progress_;
  FollowContext context_;
  CommitWake commit_wake_{context_, [this] { wake_all(); }};
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo::query::copy
