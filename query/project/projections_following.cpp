// The part of Projections that keeps rows up to date, waits for them, and shows how far they are.
#include <algorithm>
#include <limits>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "query/project/internal/projection_entry.h"
#include "query/project/projection_catalog.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::project {

void Projections::add_commit_listener(std::weak_ptr<const partitioning::DatabaseExtension::CommitListener> listener) {
  const std::lock_guard lock(listeners_mutex_);
  const auto added = listener.lock();
  std::erase_if(listeners_, [&](const auto& one) { return one.expired() || one.lock() == added; });
  listeners_.push_back(std::move(listener));
  has_listeners_.store(true, std::memory_order_release);
}

void Projections::committed() {
  if (has_listeners_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(listeners_mutex_);
    for (const auto& listener : listeners_) {
      if (const auto one = listener.lock()) (*one)();
    }
  }
  if (any_.load(std::memory_order_relaxed)) plan_wake();
}

void Projections::wake_all() {
  std::vector<EntryPtr> all;
  until_memory_suffices([&] { all = versions(); });
  for (const EntryPtr& entry : all) entry->wake();
}

void Projections::plan_retry() {
  if (!retry_planned_.exchange(true)) jobs_.post_after(refused_interval, [this] { retry_refused(); });
}

void Projections::retry_refused() {
  retry_planned_.store(false);
  std::vector<EntryPtr> all;
  until_memory_suffices([&] { all = entries(); });
  for (const EntryPtr& entry : all) {
    if (!entry->follower || !entry->follower->makes_progress()) continue;
    const auto retried =
        run_guarded("writing rows that were refused", [&] { return entry->projection->retry_refused(); });
    if (!retried) spdlog::warn("database {}: {}", database_.name(), reason_of(retried.error()));
  }
  until_memory_suffices([this] { open_again(); });
  if (!all.empty()) plan_retry();
}

// Those that could not be opened because of what may have passed.
void Projections::open_again() {
  const std::lock_guard changing(change_mutex_);
  for (const EntryPtr& entry : entries()) {
    if (stopping_->load()) return;
    if (!entry->unopened || !may_pass(*entry->unopened)) continue;
    const EntryPtr opened = open(entry->record);
    {
      const std::lock_guard lock(mutex_);
      std::ranges::replace(entries_, entry, opened);
    }
    start(opened);
  }
}

storage::Sequence Projections::followed_through() const {
  storage::Sequence least = std::numeric_limits<storage::Sequence>::max();
  for (const EntryPtr& entry : versions()) {
    if (entry->follower && entry->follower->makes_progress()) least = std::min(least, entry->projection->checkpoint());
  }
  return least;
}

Task<Expected<void>> Projections::wait_until_current(std::string_view name, storage::Sequence sequence,
                                                     std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  const EntryPtr entry = find(name);
  if (!entry) co_return no_projection();
  if (!entry->follower) co_return std::unexpected(*entry->unopened);
  {
    const std::lock_guard lock(mutex_);
    if (entry->record.paused) co_return fail(ErrorCode::conflict, "The projection is paused.");
  }
  std::function<Expected<bool>()> is_reached = [entry, sequence]() -> Expected<bool> {
    return entry->current_through() >= sequence;
  };
  co_return co_await entry->follower->wait(std::move(is_reached), deadline);
}

// --- another database takes the place of the source ---

struct Projections::Held {
  std::shared_ptr<partitioning::Database> database;  ///< keeps what follows
  std::vector<EntryPtr> entries;

  ~Held() {
    for (const EntryPtr& entry : entries) {
      entry->projection->hold(false);
      entry->wake();
    }
  }
};

std::shared_ptr<void> Projections::hold() {
  if (any_.load(std::memory_order_acquire)) static_cast<void>(load());
  auto held = std::make_shared<Held>();
  held->database = database_.shared_from_this();
  held->entries = versions();
  for (const EntryPtr& entry : held->entries) entry->projection->hold(true);
  return held;
}

void Projections::read_again() {
  const auto read = run_guarded("reading which projections there are", [this] { return read_catalog_again(); });
  if (read || stopping_->load()) return;
  spdlog::error("database {}: its projections cannot be read: {}", database_.name(), reason_of(read.error()));
  jobs_.post_after(load_retry, [this] { read_again(); });
}

Expected<void> Projections::read_catalog_again() {
  const std::lock_guard changing(change_mutex_);
  OCTAVO_TRY_VOID(load_once());
  OCTAVO_TRY(const auto records, projections_of(database_.engine().catalog(), database_.instance_tag()));
  std::vector<EntryPtr> remaining;
  for (const EntryPtr& entry : entries()) {
    // Another identity: it has to read everything again.
    if (std::ranges::find(records, entry->record.identity, &ProjectionRecord::identity) == records.end()) {
      close(entry);
    } else {
      remaining.push_back(entry);
    }
  }
  std::vector<EntryPtr> added;
  for (const ProjectionRecord& record : records) {
    const auto is_same = [&](const EntryPtr& entry) { return entry->record.identity == record.identity; };
    if (std::ranges::none_of(remaining, is_same)) added.push_back(open(record));
  }
  remaining.insert(remaining.end(), added.begin(), added.end());
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return {};
    entries_ = remaining;
    held = std::exchange(keeps_open_, remaining.empty() ? nullptr : database_.shared_from_this());
  }
  any_.store(!remaining.empty(), std::memory_order_release);
  for (const EntryPtr& entry : added) start(entry);
  if (!remaining.empty()) plan_retry();
  progress_.notify_all();
  return {};
}

// Its rows stay, and what follows is another one's.
void Projections::close(const EntryPtr& entry) {
  EntryPtr next;
  std::shared_ptr<ProjectionState> former;
  {
    const std::lock_guard lock(mutex_);
    next = std::exchange(entry->next, nullptr);
    former = entry->former;
  }
  for (const EntryPtr& one : {entry, next}) {
    if (!one) continue;
    one->set_stopping(true);
    one->projection->give_up_writing();
    jobs_.post([one] { one->projection->remove_files(); });
  }
  if (former) former->remove_files();
}

bool Projections::is_one_of_these(const EntryPtr& entry) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::find(entries_, entry) != entries_.end();
}

// --- what is shown ---

// No batch may come that would notice. A catalog that cannot be read says nothing.
bool Projections::has_target(const ProjectionRecord& record) const {
  auto& engine = database_.engine();
  const auto target =
      engine.catalog().find_incarnation(engine.databases().resolve(record.definition.target), record.target_tag);
  return !target || target->has_value();
}

Projections::View Projections::view_of(const Entry& entry) const {
  View view;
  EntryPtr next;
  {
    const std::lock_guard lock(mutex_);
    view.record = entry.record;
    next = entry.next;
  }
  if (next) {
    view.next = next->projection->status();
    if (auto failure = next->failure()) view.next_failure = reason_of(*failure);
    const std::lock_guard lock(mutex_);
    if (!view.next_failure && next->unswapped) view.next_failure = reason_of(*next->unswapped);
  }
  view.watermark = database_.watermark();
  view.status = entry.projection->status();
  view.current_through = entry.current_through();
  for (const auto& follower : entry.followers()) {
    const auto times = follower->times();
    view.times.worked += times.worked;
    view.times.rested += times.rested;
  }
  auto failure = entry.failure();
  if (!failure && !has_target(view.record)) failure = missing_target(view.record.definition.target);
  if (failure) view.failure = reason_of(*failure);
  if (view.record.removing) {
    view.state = "removing";
  } else if (view.record.paused) {
    view.state = "paused";
  } else if (failure) {
    view.state = may_pass(*failure) ? "waiting" : "failed";
  } else if (!view.record.former.empty() && !entry.projection->is_hidden()) {
    view.state = "switching";
  } else {
    if (view.current_through >= view.watermark) entry.built->store(true);
    view.state = entry.built->load() && !entry.takes_over->load() ? "active" : "building";
  }
  return view;
}

std::vector<Projections::View> Projections::views() {
  if (any_.load(std::memory_order_acquire)) static_cast<void>(load());
  std::vector<View> all;
  for (const EntryPtr& entry : entries()) all.push_back(view_of(*entry));
  return all;
}

std::optional<Projections::View> Projections::view(std::string_view name) {
  if (any_.load(std::memory_order_acquire)) static_cast<void>(load());
  const EntryPtr entry = find(name);
  return entry ? std::optional(view_of(*entry)) : std::nullopt;
}

// --- the life of the database ---

void Projections::shut_down() {
  std::vector<EntryPtr> all;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    stopping_->store(true);
    // Databases that are joined with each other would keep each other open.
    all = std::exchange(entries_, {});
    held = std::move(keeps_open_);
    for (const EntryPtr& entry : all) {
      entry->set_stopping(true);
      if (entry->next) entry->next->set_stopping(true);
    }
  }
  {
    const std::lock_guard lock(join_listener_->mutex);
    join_listener_->owner = nullptr;
  }
  context_.shut_down = true;
  function_context_.shut_down = true;
  jobs_.stop();
  for (const EntryPtr& entry : all) {
    for (const auto& follower : entry->followers()) follower->end_task();
    if (!entry->next) continue;
    for (const auto& follower : entry->next->followers()) follower->end_task();
  }
  progress_.notify_all();
  if (!database_.deleted() || !held) return;
  for (const EntryPtr& entry : all) {
    // Its rows become ordinary documents.
    tell_target(entry->record);
    delete_unseen_targets(entry->record);
  }
}

std::vector<std::shared_ptr<Projection>> Projections::projections() const {
  std::vector<std::shared_ptr<Projection>> open;
  for (const EntryPtr& entry : versions()) {
    if (entry->follower) open.push_back(entry->projection);
  }
  return open;
}

std::size_t Projections::open_store_count() const {
  const auto all = versions();
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [](const EntryPtr& entry) { return entry->projection->store().is_open(); }));
}

std::uint64_t Projections::last_used_ms() const {
  std::uint64_t newest = 0;
  for (const EntryPtr& entry : versions()) newest = std::max(newest, entry->projection->store().last_used_ms());
  return newest;
}

std::size_t Projections::close_idle(std::uint64_t last_used_before_ms) {
  std::size_t closed = 0;
  for (const EntryPtr& entry : versions()) {
    auto& store = entry->projection->store();
    if (store.is_open() && store.last_used_ms() <= last_used_before_ms && store.close_if_idle()) ++closed;
  }
  return closed;
}

}  // namespace octavo::query::project
