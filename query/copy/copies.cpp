#include "query/copy/copies.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/digest.h"
#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "query/copy/copies_entry.h"
#include "query/copy/copy_catalog.h"
#include "query/follow/open_sources.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::copy {

namespace {

constexpr std::chrono::milliseconds load_retry{2'000};
constexpr std::size_t id_bytes = 16;
constexpr std::string_view folder_prefix = "copy-";

std::unexpected<Error> no_copy() {
  return fail(ErrorCode::not_found, "There is no copy with this id.");
}

}  // namespace

Copies::Copies(partitioning::Database& source, ActiveTasks* tasks, project::FormReader read_form, Succession succession)
    : source_(source),
      read_form_(read_form),
      succession_(succession),
      context_{source, tasks, jobs_, progress_, nullptr},
      jobs_(source.engine().indexers()) {
  if (read_form_ == nullptr) return;
  const auto records = copies_of(source.engine().catalog(), source.instance_tag());
  if (!records) {
    spdlog::error("database {}: its copies cannot be read: {}", source.name(), reason_of(records.error()));
  } else if (!std::ranges::all_of(*records, &CopyRecord::has_ended)) {
    any_.store(true, std::memory_order_release);
    jobs_.post([this] { load_in_background(); });
  }
}

Copies::~Copies() {
  shut_down();
}

void Copies::resume(partitioning::Engine& engine) {
  open_sources(engine, "databases that are copied", sources_of_copies);
}

// --- what is defined ---

void Copies::load_in_background() {
  const auto loaded = run_guarded("opening copies", [this] { return load(); });
  if (loaded || stopping_->load()) return;
  spdlog::error("database {}: its copies cannot be read: {}", source_.name(), reason_of(loaded.error()));
  jobs_.post_after(load_retry, [this] { load_in_background(); });
}

Expected<void> Copies::load() {
  const std::lock_guard changing(change_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (loaded_) return {};
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
  }
  OCTAVO_TRY(const auto records, copies_of(source_.engine().catalog(), source_.instance_tag()));
  remove_strays(records);
  std::vector<EntryPtr> opened;
  for (const CopyRecord& record : records) opened.push_back(open(record));
  const bool any = !std::ranges::all_of(records, &CopyRecord::has_ended);
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
    entries_ = opened;
    loaded_ = true;
    if (any) keeps_open_ = source_.shared_from_this();
  }
  any_.store(any, std::memory_order_release);
  for (const EntryPtr& entry : opened) {
    start(entry);
    if (entry->record.removes_target) jobs_.post([this, entry] { cancel_again(entry); });
  }
  return {};
}

// A crash, or an error, came between.
void Copies::cancel_again(const EntryPtr& entry) {
  const auto cancelled = cancel(entry->record.id, true);
  if (cancelled || stopping_->load()) return;
  spdlog::error("database {}: {}, the target of a copy that was cancelled, cannot be removed: {}", source_.name(),
                entry->record.definition.target, reason_of(cancelled.error()));
}

// Left by a crash while a copy ended.
void Copies::remove_strays(const std::vector<CopyRecord>& records) const {
  const auto is_known = [&](std::string_view id) {
    return std::ranges::any_of(records, [&](const auto& one) { return one.id == id && !one.has_ended; });
  };
  storage::remove_stray_folders(source_.folder(), folder_prefix, is_known);
}

Copies::EntryPtr Copies::open(CopyRecord record) {
  auto entry = std::make_shared<Entry>();
  entry->record = std::move(record);
  if (entry->record.has_ended) return entry;
  entry->copy = std::make_shared<DatabaseCopy>(source_, entry->record, read_form_, stopping_);
  const auto opened = entry->copy->open();
  if (!opened) {
    spdlog::error("database {}: its copy to {} cannot be opened: {}", source_.name(), entry->record.definition.target,
                  reason_of(opened.error()));
    entry->unopened = opened.error();
    return entry;
  }
  entry->follower = std::make_shared<Follower>(context_, entry->copy, entry->is_complete);
  return entry;
}

void Copies::start(const EntryPtr& entry) {
  if (!entry->follower) return;
  bool paused = false;
  {
    const std::lock_guard lock(mutex_);
    paused = entry->record.paused;
  }
  entry->follower->set_stopping(paused);
  if (paused) return;
  entry->follower->wake();
  if (entry->record.definition.cuts_over && !entry->is_looked_at.exchange(true)) {
    jobs_.post([this, entry] { look_at_change_over(entry); });
  }
}

Copies::EntryPtr Copies::find(std::string_view id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const EntryPtr& one) { return one->record.id == id; });
  return found == entries_.end() ? nullptr : *found;
}

Copies::EntryPtr Copies::running() const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [](const EntryPtr& one) { return !one->record.has_ended; });
  return found == entries_.end() ? nullptr : *found;
}

void Copies::tell_target(const CopyRecord& record) const {
  project::tell_target(source_.engine(), record.definition.target, record.target_tag);
}

Expected<std::string> Copies::add(CopyDefinition definition, partitioning::Database& target) {
  if (read_form_ == nullptr) return fail(ErrorCode::unsupported, "The engine was opened without copies.");
  OCTAVO_TRY_VOID(load());
  OCTAVO_TRY(const auto from, read_form_(source_));
  OCTAVO_TRY(const auto into, read_form_(target));
  OCTAVO_TRY_VOID(DatabaseCopy::check(definition, *from, *into, target.partitioned()));
  const std::lock_guard changing(change_mutex_);
  {
    const std::lock_guard lock(mutex_);
    for (const EntryPtr& entry : entries_) {
      // The same request may be sent again.
      const CopyRecord& record = entry->record;
      if (record.definition.json == definition.json && record.target_tag == target.instance_tag()) return record.id;
    }
  }
  if (const EntryPtr other = running()) {
    return fail(ErrorCode::conflict,
                fmt::format("The database is being copied to {} already.", other->record.definition.target),
                "copy_running");
  }
  OCTAVO_TRY(const auto statistics, target.statistics());
  if (statistics.document_count > 0) {
    return fail(ErrorCode::conflict,
                fmt::format("{} has documents: the target of a copy must be empty.", target.name()), "copy_target");
  }
  CopyRecord record;
  record.id = crypto::hex_identity(crypto::random_bytes(id_bytes));
  record.target_tag = target.instance_tag();
  record.created_s = unix_now_s();
  record.definition = std::move(definition);
  OCTAVO_TRY_VOID(add_copy(source_.engine().catalog(), source_, target, record));
  // Before the first document: clients must not change it.
  tell_target(record);
  const EntryPtr entry = open(record);
  std::optional<CopyRecord> forgotten;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
    if (entries_.size() >= kept_max) {
      forgotten = entries_.front()->record;
      entries_.erase(entries_.begin());
    }
    entries_.push_back(entry);
    keeps_open_ = source_.shared_from_this();
  }
  any_.store(true, std::memory_order_release);
  if (forgotten) OCTAVO_TRY_VOID(erase_copy(source_.engine().catalog(), source_.instance_tag(), *forgotten));
  start(entry);
  return record.id;
}

Expected<void> Copies::store_record(const CopyRecord& record) const {
  return store_copy(source_.engine().catalog(), source_.instance_tag(), record);
}

Expected<void> Copies::change(const EntryPtr& entry, const std::function<void(CopyRecord&)>& edit) {
  return change(entry, edit, [&](const CopyRecord& record) { return store_record(record); });
}

Expected<void> Copies::change(const EntryPtr& entry, const std::function<void(CopyRecord&)>& edit,
                              FunctionRef<Expected<void>(const CopyRecord& record)> store) {
  CopyRecord record;
  {
    const std::lock_guard lock(mutex_);
    record = entry->record;
  }
  edit(record);
  OCTAVO_TRY_VOID(store(record));
  const std::lock_guard lock(mutex_);
  entry->record = std::move(record);
  return {};
}

Expected<void> Copies::pause(std::string_view id, bool paused) {
  OCTAVO_TRY_VOID(load());
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(id);
  if (!entry) return no_copy();
  if (entry->record.has_ended) return fail(ErrorCode::conflict, "The copy has ended.");
  OCTAVO_TRY_VOID(change(entry, [&](CopyRecord& record) { record.paused = paused; }));
  start(entry);
  return {};
}

Task<Expected<Copies::EntryPtr>> Copies::find_running(std::string id) {
  auto look = [this] { return load(); };
  OCTAVO_CO_TRY_VOID(co_await source_.engine().workers().run_blocking(std::move(look)));
  EntryPtr entry = find(id);
  if (!entry) co_return no_copy();
  {
    const std::lock_guard lock(mutex_);
    if (entry->record.has_ended) co_return nullptr;
    if (entry->record.paused) co_return fail(ErrorCode::conflict, "The copy is paused.");
    if (entry->unopened) co_return std::unexpected(*entry->unopened);
  }
  co_return entry;
}

Task<Expected<void>> Copies::reach(EntryPtr entry, storage::Sequence wanted,
                                   std::chrono::steady_clock::time_point deadline) {
  std::shared_ptr<DatabaseCopy> copy;
  std::shared_ptr<FeedFollower> follower;
  {
    const std::lock_guard lock(mutex_);
    copy = entry->copy;
    follower = entry->follower;
  }
  // It may have been cancelled meanwhile.
  if (!copy || !follower) co_return fail(ErrorCode::conflict, "The copy has ended.");
  std::function<Expected<bool>()> is_reached = [copy, wanted]() -> Expected<bool> {
    return copy->complete_through() >= wanted;
  };
  co_return co_await follower->wait(std::move(is_reached), deadline);
}

Task<Expected<void>> Copies::finish(std::string id, std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = source_.shared_from_this();
  OCTAVO_CO_TRY(const EntryPtr entry, co_await find_running(std::move(id)));
  if (!entry) co_return Expected<void>{};
  OCTAVO_CO_TRY_VOID(co_await reach(entry, source_.committed_sequence(), deadline));
  auto work = [&] {
    const std::lock_guard changing(change_mutex_);
    if (entry->record.removes_target) return Expected<void>(fail(ErrorCode::conflict, "The copy was cancelled."));
    return end(entry);
  };
  co_return co_await source_.engine().workers().run_blocking(std::move(work));
}

Expected<void> Copies::end(const EntryPtr& entry) {
  return end(entry, [&](const CopyRecord& record) { return store_record(record); });
}

// Called with change_mutex_ held.
Expected<void> Copies::end(const EntryPtr& entry, FunctionRef<Expected<void>(const CopyRecord& record)> store,
                           bool removes_target) {
  if (entry->record.has_ended) return {};
  if (entry->follower) entry->follower->set_stopping(true);
  // From here on the target gets nothing more.
  entry->copy->set_writing(false);
  const auto edit = [&](CopyRecord& record) {
    record.has_ended = true;
    record.removes_target = removes_target;
  };
  if (auto ended = change(entry, edit, store); !ended) {
    entry->copy->set_writing(true);
    start(entry);
    return ended;
  }
  tell_target(entry->record);
  std::shared_ptr<DatabaseCopy> ended;
  std::shared_ptr<FeedFollower> follower;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    ended = std::exchange(entry->copy, nullptr);
    follower = std::exchange(entry->follower, nullptr);
    held = std::move(keeps_open_);
  }
  any_.store(false, std::memory_order_release);
  // A batch may still be under way: its files go when it is over.
  jobs_.post([ended, follower] {
    if (follower) follower->end_task();
    ended->remove_files();
  });
  return {};
}

Expected<void> Copies::cancel(std::string_view id, bool removes_target) {
  OCTAVO_TRY_VOID(load());
  EntryPtr entry;
  CopyRecord record;
  {
    const std::lock_guard changing(change_mutex_);
    entry = find(id);
    if (!entry) return no_copy();
    // Before the target goes: afterwards no change-over can give it the name of the source.
    const auto store = [&](const CopyRecord& ended) { return store_record(ended); };
    OCTAVO_TRY_VOID(end(entry, store, removes_target));
    record = entry->record;
  }
  if (record.removes_target) {
    OCTAVO_TRY_VOID(project::delete_target(source_.engine(), record.definition.target, record.target_tag));
  }
  const std::lock_guard changing(change_mutex_);
  OCTAVO_TRY_VOID(erase_copy(source_.engine().catalog(), source_.instance_tag(), record));
  if (auto* const extension = source_.extension()) extension->owners_changed();
  const std::lock_guard lock(mutex_);
  std::erase(entries_, entry);
  return {};
}

// --- following ---

void Copies::committed() {
  if (any_.load(std::memory_order_relaxed)) commit_wake_.plan();
}

void Copies::wake_all() {
  const EntryPtr entry = running();
  std::shared_ptr<FeedFollower> follower;
  {
    const std::lock_guard lock(mutex_);
    if (entry) follower = entry->follower;
  }
  if (follower) follower->wake();
}

storage::Sequence Copies::followed_through() const {
  constexpr auto all = std::numeric_limits<storage::Sequence>::max();
  const EntryPtr entry = any_.load(std::memory_order_acquire) ? running() : nullptr;
  if (!entry) return all;
  const std::lock_guard lock(mutex_);
  return entry->follower && entry->follower->makes_progress() ? entry->copy->checkpoint() : all;
}

// --- what is shown ---

Copies::View Copies::view_of(const Entry& entry) const {
  View view;
  std::shared_ptr<DatabaseCopy> copy;
  std::shared_ptr<FeedFollower> follower;
  {
    const std::lock_guard lock(mutex_);
    view.record = entry.record;
    copy = entry.copy;
    follower = entry.follower;
    view.cut_over_attempts = entry.automatic.attempts;
    view.cut_over_failure = entry.automatic.failure;
  }
  if (view.record.has_ended) {
    view.state = view.record.removes_target ? "removing" : "done";
    return view;
  }
  view.status = copy->status();
  view.behind = source_.changes_after(copy->checkpoint());
  auto failure = entry.unopened;
  if (!failure && follower) failure = follower->failure();
  if (failure) view.failure = reason_of(*failure);
  if (view.record.paused) {
    view.state = "paused";
  } else if (failure) {
    view.state = may_pass(*failure) ? "waiting" : "failed";
  } else {
    view.state = entry.is_complete->load(std::memory_order_acquire) ? "following" : "copying";
  }
  return view;
}

std::vector<Copies::View> Copies::views() {
  static_cast<void>(load());  // then there are none to show
  std::vector<EntryPtr> all;
  {
    const std::lock_guard lock(mutex_);
    all = entries_;
  }
  std::vector<View> shown;
  for (const EntryPtr& entry : all) shown.push_back(view_of(*entry));
  return shown;
}

Expected<Copies::View> Copies::view(std::string_view id) {
  OCTAVO_TRY_VOID(load());
  const EntryPtr entry = find(id);
  if (!entry) return no_copy();
  return view_of(*entry);
}

// --- the life of the database ---

void Copies::shut_down() {
  EntryPtr entry;
  std::shared_ptr<FeedFollower> follower;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    stopping_->store(true);
    for (const EntryPtr& one : entries_) {
      if (!one->follower) continue;
      entry = one;
      follower = one->follower;
    }
    entries_.clear();
    held = std::move(keeps_open_);
  }
  if (follower) follower->set_stopping(true);
  context_.shut_down = true;
  jobs_.stop();
  progress_.notify_all();
  {
    // A database that is deleted may wait here on a thread that the attempt needs. It keeps the database until it ends.
    constexpr std::chrono::seconds patience{5};
    std::unique_lock lock(attempt_mutex_);
    attempt_has_ended_.wait_for(lock, patience, [this] { return !attempt_runs_; });
  }
  if (follower) follower->end_task();
  progress_.notify_all();
  // Its target becomes an independent database.
  if (source_.deleted() && entry) tell_target(entry->record);
}

std::size_t Copies::open_store_count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::size_t>(
      std::ranges::count_if(entries_, [](const EntryPtr& one) { return one->copy && one->copy->store().is_open(); }));
}

std::uint64_t Copies::last_used_ms() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t newest = 0;
  for (const EntryPtr& one : entries_) {
    if (one->copy) newest = std::max(newest, one->copy->store().last_used_ms());
  }
  return newest;
}

std::size_t Copies::close_idle(std::uint64_t last_used_before_ms) {
  std::shared_ptr<DatabaseCopy> copy;
  if (const EntryPtr entry = running()) {
    const std::lock_guard lock(mutex_);
    copy = entry->copy;
  }
  if (!copy) return 0;
  auto& store = copy->store();
  return store.is_open() && store.last_used_ms() <= last_used_before_ms && store.close_if_idle() ? 1 : 0;
}

}  // namespace octavo::query::copy
