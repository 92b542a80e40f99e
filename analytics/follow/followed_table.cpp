#include "analytics/follow/followed_table.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"

namespace octavo::analytics {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds open_retry_min{500};
constexpr milliseconds open_retry_max{10'000};
constexpr std::size_t batch_rows_first = 1'024;
// Rows that have expired leave this late at most: a part of the time that they stay, within bounds.
constexpr int expiration_parts = 10;
constexpr milliseconds expiration_pause_min{1'000};
constexpr milliseconds expiration_pause_max{60'000};
// Removing takes a tenth of a processor.
constexpr int expiration_pause_factor = 10;

query::FeedFollower::Options follower_options() {
  query::FeedFollower::Options options;
  options.subject = "the analytical store";
  options.task.type = "analytics";
  options.rows_first = batch_rows_first;
  options.leaves_new_writes = true;  // committed() plans a batch for them
  return options;
}

}  // namespace

/// Keeps what it uses, as its last job may end after the table is gone.
class FollowedTable::Follower final : public query::FeedFollower {
 public:
  Follower(query::FollowContext& context, std::shared_ptr<TableFeed> feed, std::function<void()> may_take_place)
      : FeedFollower(context, *feed, follower_options()),
        progress_(context.progress),
        feed_(std::move(feed)),
        may_take_place_(std::move(may_take_place)) {}

  bool is_complete() const { return is_complete_.load(std::memory_order_acquire); }

 private:
  void caught_up() override {
    if (!is_complete_.exchange(true, std::memory_order_acq_rel)) progress_.notify_all();
    if (may_take_place_ && feed_->is_beside()) may_take_place_();
  }

  partitioning::ChangeNotifier& progress_;
  const std::shared_ptr<TableFeed> feed_;
  const std::function<void()> may_take_place_;
  std::atomic<bool> is_complete_{false};
};

FollowedTable::FollowedTable(query::FollowContext& context, Definition definition, Process* process,
                             std::function<void()> may_take_place)
    : context_(context),
      feed_(process == nullptr
                ? nullptr
                : std::make_shared<TableFeed>(context.database, definition, may_take_place != nullptr, *process)),
      follower_(feed_ ? std::make_shared<Follower>(context, feed_, may_take_place) : nullptr),
      may_take_place_(std::move(may_take_place)),
      answers_(may_take_place_ == nullptr),
      definition_(std::move(definition)) {}

FollowedTable::~FollowedTable() = default;

Definition FollowedTable::definition() const {
  const std::lock_guard lock(mutex_);
  return definition_;
}

void FollowedTable::start() {
  context_.jobs.post([weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->open(open_retry_min);
  });
}

void FollowedTable::start_again() {
  context_.jobs.post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->feed_->close_for_now();
    self->open(open_retry_min);
  });
}

void FollowedTable::open(milliseconds retry) {
  const auto opened = run_guarded("opening an analytical store", [&] { return feed_->open(); });
  if (opened) {
    {
      const std::lock_guard lock(mutex_);
      unopened_.reset();
    }
    is_open_.store(true, std::memory_order_release);
    context_.progress.notify_all();
    if (may_take_place_ && !feed_->is_beside()) may_take_place_();  // it did so before a crash
    follower_->wake();
    if (answers_.load(std::memory_order_acquire)) plan_expiration();
    return;
  }
  if (is_over_.load(std::memory_order_acquire)) return;  // the end of its channel is no failure
  {
    const std::lock_guard lock(mutex_);
    if (!unopened_ || unopened_->reason != opened.error().reason) {
      spdlog::warn("database {}: the analytical store waits: {}", context_.database.name(), reason_of(opened.error()));
    }
    unopened_ = opened.error();
  }
  context_.progress.notify_all();
  context_.jobs.post_after(retry, [weak = weak_from_this(), retry] {
    if (const auto self = weak.lock()) self->open(std::min(2 * retry, open_retry_max));
  });
}

void FollowedTable::wake() {
  if (is_open()) follower_->wake();
}

void FollowedTable::answer() {
  answers_.store(true, std::memory_order_release);
  if (is_open()) plan_expiration();
}

void FollowedTable::change_ttl(Definition definition) {
  feed_->change_ttl(definition);
  {
    const std::lock_guard lock(mutex_);
    definition_ = std::move(definition);
  }
  if (!is_open()) return;
  follower_->wake();
  if (answers_.load(std::memory_order_acquire)) plan_expiration();
}

void FollowedTable::interrupt() {
  is_over_.store(true, std::memory_order_release);
  follower_->set_stopping(true);
  expiration_plan_.fetch_add(1);
  feed_->interrupt();
}

void FollowedTable::close() {
  follower_->end_task();
  feed_->close();
}

bool FollowedTable::is_built() const {
  return feed_->built() || is_complete();
}

bool FollowedTable::is_complete() const {
  return follower_->is_complete();
}

std::optional<Error> FollowedTable::unopened() const {
  const std::lock_guard lock(mutex_);
  return unopened_;
}

std::optional<Error> FollowedTable::failure() const {
  auto why = unopened();
  return why ? why : follower_->failure();
}

storage::Sequence FollowedTable::followed_through() const {
  constexpr auto all = std::numeric_limits<storage::Sequence>::max();
  return is_open() && follower_->makes_progress() ? feed_->checkpoint() : all;
}

milliseconds FollowedTable::last_batch() const {
  return feed_->last_batch();
}

// Whether or not documents change.
void FollowedTable::remove_expired(std::uint64_t plan) {
  if (expiration_plan_.load() != plan) return;
  const auto begun = std::chrono::steady_clock::now();
  const auto more = run_guarded("removing expired rows", [&] { return feed_->remove_expired(); });
  const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
  const std::int64_t ttl = feed_->ttl_s();
  if (!more) return plan_expiration(plan, open_retry_max);
  if (*more) return plan_expiration(plan, std::max(expiration_pause_min, expiration_pause_factor * took));
  if (ttl <= 0) return;
  plan_expiration(plan, std::clamp(milliseconds(std::chrono::seconds(ttl)) / expiration_parts, expiration_pause_min,
                                   expiration_pause_max));
}

void FollowedTable::plan_expiration(std::uint64_t plan, milliseconds delay) {
  context_.jobs.post_after(delay, [weak = weak_from_this(), plan] {
    if (const auto self = weak.lock()) self->remove_expired(plan);
  });
}

void FollowedTable::plan_expiration() {
  plan_expiration(expiration_plan_.fetch_add(1) + 1, milliseconds(0));
}

Expected<bool> FollowedTable::is_reached(storage::Sequence sequence) const {
  OCTAVO_TRY(const partitioning::HiddenDeletions hidden, context_.database.hidden_deletions());
  return feed_->checkpoint() >= sequence && feed_->purge_count() >= hidden.purge_count && is_built();
}

Task<Expected<void>> FollowedTable::wait(storage::Sequence sequence, std::chrono::steady_clock::time_point deadline) {
  const auto keep = shared_from_this();
  std::function<Expected<bool>()> is_there = [this, sequence] { return is_reached(sequence); };
  co_return co_await follower_->wait(std::move(is_there), deadline);
}

}  // namespace octavo::analytics
