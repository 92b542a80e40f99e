#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "query/copy/copies.h"

/// What Copies has of a copy. For its sources only.
namespace octavo::query::copy {

/// Keeps what it uses, as its last job may end after the copy is gone.
class Copies::Follower final : public FeedFollower {
 public:
  Follower(FollowContext& context, std::shared_ptr<DatabaseCopy> copy, std::shared_ptr<std::atomic<bool>> is_complete)
      : FeedFollower(context, *copy, options_of(copy->record())),
        copy_(std::move(copy)),
        is_complete_(std::move(is_complete)) {}

 private:
  static Options options_of(const CopyRecord& record) {
    Options options;
    options.subject = "copy to " + record.definition.target;
    options.task.type = "copy";
    options.task.index = record.definition.target;
    options.rows_first = 1024;
    return options;
  }
  void caught_up() override { is_complete_->store(true, std::memory_order_release); }

  const std::shared_ptr<DatabaseCopy> copy_;
  const std::shared_ptr<std::atomic<bool>> is_complete_;
};

/// One copy.
struct Copies::Entry {
  CopyRecord record;                       ///< guarded by mutex_
  std::shared_ptr<DatabaseCopy> copy;      ///< null: it has ended
  std::shared_ptr<FeedFollower> follower;  ///< null: it has ended, or its files could not be opened
  std::optional<Error> unopened;           ///< why they could not
  /// The target had all documents once. Shared with the follower.
  std::shared_ptr<std::atomic<bool>> is_complete = std::make_shared<std::atomic<bool>>(false);

  /// A change-over that begins by itself.
  struct Automatic {
    std::uint64_t attempts = 0;
    std::optional<std::string> failure;  ///< of the last one
    std::chrono::milliseconds retry{0};
    std::chrono::steady_clock::time_point not_before{};
    /// From then on the copy has been near its source; absent: it is not.
    std::optional<std::chrono::steady_clock::time_point> near_since;
  };
  Automatic automatic;                    ///< guarded by mutex_
  std::atomic<bool> is_looked_at{false};  ///< a job looks whether it can begin
};

}  // namespace octavo::query::copy
