// A copy that takes the place of its source by itself.
#include <algorithm>
#include <thread>
#include <utility>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "query/copy/copies.h"
#include "query/copy/copies_entry.h"

namespace octavo::query::copy {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds look_interval{100};
/// So few changes are copied within the pause.
constexpr storage::Sequence near_changes = 500;
/// Indexes of the target may still need the processors, and a moment of quiet says little.
constexpr milliseconds near_for{500};
constexpr milliseconds attempt_time{3'000};
constexpr milliseconds attempt_retry_first{1'000};
constexpr milliseconds attempt_retry_max{60'000};

}  // namespace

std::string former_name_of(const partitioning::Database& database) {
  return database.name() + "-" + database.instance_tag().substr(0, 8);
}

void Copies::look_at_change_over(const EntryPtr& entry) {
  std::shared_ptr<DatabaseCopy> copy;
  std::shared_ptr<FeedFollower> follower;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load() || entry->record.has_ended || entry->record.paused || !entry->follower) {
      entry->is_looked_at.store(false);
      return;
    }
    copy = entry->copy;
    follower = entry->follower;
  }
  const auto now = Clock::now();
  const bool is_near = entry->is_complete->load(std::memory_order_acquire) && follower->makes_progress() &&
                       source_.changes_after(copy->checkpoint()) < near_changes;
  bool is_due = false;
  {
    const std::lock_guard lock(mutex_);
    auto& automatic = entry->automatic;
    if (!is_near) {
      automatic.near_since.reset();
    } else if (!automatic.near_since) {
      automatic.near_since = now;
    }
    is_due = is_near && now >= *automatic.near_since + near_for && now >= automatic.not_before;
  }
  const auto begin = [&]() -> Expected<void> {
    begin_change_over(entry);
    return {};
  };
  // Without a thread it is tried again.
  if (is_due && run_guarded("changing over to a copy", begin)) return;
  jobs_.post_after(look_interval, [this, entry] { look_at_change_over(entry); });
}

// On a thread of its own, as it waits for work on all others.
void Copies::begin_change_over(const EntryPtr& entry) {
  const std::lock_guard lock(attempt_mutex_);
  if (stopping_->load()) return;
  std::thread([this, entry, held = source_.shared_from_this()] {
    until_memory_suffices([&] { change_over_by_itself(entry); });
    const std::lock_guard ending(attempt_mutex_);
    attempt_runs_ = false;
    attempt_has_ended_.notify_all();
  }).detach();
  attempt_runs_ = true;
}

void Copies::change_over_by_itself(const EntryPtr& entry) {
  const CopyRecord record = view_of(*entry).record;
  const auto& definition = record.definition;
  Expected<ChangeOver> done = fail(ErrorCode::internal, {});
  boost::asio::io_context context(1);
  boost::asio::co_spawn(context.get_executor(),
                        change_over(record.id, definition.change_over, Clock::now() + attempt_time),
                        [&](const std::exception_ptr& exception, Expected<ChangeOver> result) {
                          if (!exception) done = std::move(result);
                        });
  context.run();
  if (!done && !stopping_->load()) {
    spdlog::warn("database {}: {} has not taken its place yet: {}", source_.name(), definition.target,
                 reason_of(done.error()));
  }
  {
    const std::lock_guard lock(mutex_);
    auto& automatic = entry->automatic;
    ++automatic.attempts;
    automatic.failure = done ? std::nullopt : std::optional<std::string>(reason_of(done.error()));
    automatic.retry = std::clamp(2 * automatic.retry, attempt_retry_first, attempt_retry_max);
    automatic.not_before = Clock::now() + automatic.retry;
  }
  jobs_.post_after(look_interval, [this, entry] { look_at_change_over(entry); });
}

}  // namespace octavo::query::copy
