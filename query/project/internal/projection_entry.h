#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "query/project/projections.h"

/// Private to Projections.
namespace octavo::query::project {

/// How often rows that were refused are tried again.
inline constexpr std::chrono::milliseconds refused_interval{30'000};

/// After the catalog could not be read.
inline constexpr std::chrono::milliseconds load_retry{2'000};

/// How often it is looked whether the rows of a changed definition are known.
inline constexpr std::chrono::milliseconds next_interval{100};
/// The same while rows wait for it.
inline constexpr std::chrono::milliseconds holding_interval{2};
/// Then it is tried again later.
inline constexpr std::chrono::milliseconds holding_max{500};

inline std::unexpected<Error> no_projection() {
  return fail(ErrorCode::not_found, "There is no projection of this name.");
}

/// One projection and its followers.
struct Projections::Entry {
  ProjectionRecord record;  ///< guarded by mutex_
  std::shared_ptr<Projection> projection;
  std::shared_ptr<FeedFollower> follower;  ///< of the source; null: its files could not be opened
  std::vector<std::shared_ptr<FeedFollower>> join_followers;
  std::vector<std::shared_ptr<partitioning::Database>> joined;
  std::shared_ptr<Entry> next;              ///< of ProjectionRecord::next; guarded by mutex_
  std::shared_ptr<ProjectionState> former;  ///< of ProjectionRecord::former; guarded by mutex_
  std::atomic<bool> is_replacing{false};    ///< a job replaces the former rows
  std::atomic<bool> is_looked_at{false};    ///< a job looks whether its rows are known, as they replace others then
  std::optional<Error> unopened;            ///< why its files could not be opened
  std::optional<Error> unswapped;           ///< why it has not taken the place of another one; guarded by mutex_
  /// The former definition writes no rows, so that this one comes up to where that was; used by one job.
  struct Holding {
    std::chrono::steady_clock::time_point since;
    storage::Sequence wanted = 0;
  };
  std::optional<Holding> holding;
  /// It had the whole feed once. Shared with the follower.
  std::shared_ptr<std::atomic<bool>> built = std::make_shared<std::atomic<bool>>(false);
  /// ProjectionRecord::takes_over(). Shared with those who wait.
  const std::shared_ptr<std::atomic<bool>> takes_over = std::make_shared<std::atomic<bool>>(false);

  std::vector<std::shared_ptr<FeedFollower>> followers() const {
    std::vector<std::shared_ptr<FeedFollower>> all = join_followers;
    if (follower) all.push_back(follower);
    return all;
  }
  void set_stopping(bool stopping) const {
    for (const auto& one : followers()) one->set_stopping(stopping);
  }
  void wake() const {
    for (const auto& one : followers()) one->wake();
  }
  /// Every row is made of a state of its document not older than this.
  storage::Sequence current_through() const { return takes_over->load() ? 0 : projection->complete_through(); }
  std::optional<Error> failure() const {
    if (unopened) return unopened;
    for (const auto& one : joined) {
      if (!one->deleted()) continue;
      return Error{
          ErrorCode::not_found, fmt::format("The joined database {} does not exist any more.", one->name()), {}};
    }
    for (const auto& one : followers()) {
      if (auto failure = one->failure()) return failure;
    }
    return std::nullopt;
  }
};

struct Projections::JoinListener {
  std::mutex mutex;
  Projections* owner = nullptr;  ///< null: it was shut down

  void committed() {
    const std::lock_guard lock(mutex);
    if (owner != nullptr) owner->plan_wake();
  }
};

}  // namespace octavo::query::project
