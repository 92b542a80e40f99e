#include "analytics/follow/database_analytics.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "query/follow/open_sources.h"

namespace octavo::analytics {

namespace {

using std::chrono::milliseconds;

// A batch costs more the more rows there are: the next one waits ten times as long, so that following takes a tenth of
// a processor.
constexpr milliseconds batch_pause_min{1'000};
constexpr int batch_pause_factor = 10;
constexpr milliseconds open_retry_min{500};
constexpr milliseconds open_retry_max{10'000};
constexpr std::size_t batch_rows_first = 1'024;
// Rows that have expired leave this late at most: a part of the time that they stay, within bounds.
constexpr int expiration_parts = 10;
constexpr milliseconds expiration_pause_min{1'000};
constexpr milliseconds expiration_pause_max{60'000};

query::FeedFollower::Options follower_options() {
  query::FeedFollower::Options options;
  options.subject = "the analytical store";
  options.task.type = "analytics";
  options.rows_first = batch_rows_first;
  options.leaves_new_writes = true;  // committed() plans a batch for them
  return options;
}

std::unexpected<Error> no_store() {
  return fail(ErrorCode::not_found, "The database has no analytical store: PUT /{db}/_analytics makes one.");
}

}  // namespace

/// Keeps what it uses, as its last job may end after the store is gone.
class DatabaseAnalytics::Follower final : public query::FeedFollower {
 public:
  Follower(query::FollowContext& context, std::shared_ptr<TableFeed> feed)
      : FeedFollower(context, *feed, follower_options()), progress_(context.progress), feed_(std::move(feed)) {}

  bool is_complete() const { return is_complete_.load(std::memory_order_acquire); }

 private:
  void caught_up() override {
    if (!is_complete_.exchange(true, std::memory_order_acq_rel)) progress_.notify_all();
  }

  partitioning::ChangeNotifier& progress_;
  const std::shared_ptr<TableFeed> feed_;
  std::atomic<bool> is_complete_{false};
};

struct DatabaseAnalytics::Entry {
  explicit Entry(Definition defined) : definition(std::move(defined)) {}

  const Definition definition;
  std::shared_ptr<TableFeed> feed;     ///< null: analytics are not enabled
  std::shared_ptr<Follower> follower;  ///< null, as above
  std::atomic<bool> is_open{false};    ///< the table's checkpoint is known
  std::mutex mutex;                    ///< guards the next one
  std::optional<Error> unopened;       ///< why it is not open yet
};

DatabaseAnalytics::DatabaseAnalytics(partitioning::Database& database, ContainerTtl read_ttl, Process* process,
                                     boost::asio::thread_pool& pool, query::ActiveTasks* tasks)
    : database_(database),
      read_ttl_(read_ttl),
      process_(process),
      context_{database, tasks, jobs_, progress_, nullptr},
      jobs_(pool) {
  auto definition = definition_of(database.engine().catalog(), database.instance_tag());
  if (!definition) {
    spdlog::error("database {}: its analytical store: {}", database.name(), definition.error().reason);
  } else if (*definition) {
    jobs_.post([this, defined = **definition] {
      const std::lock_guard changing(change_mutex_);
      {
        const std::lock_guard lock(mutex_);
        if (entry_ || stopped_) return;
      }
      replace(std::make_shared<Entry>(defined));
    });
    any_.store(true, std::memory_order_release);
  }
  // A crash may have come between the change of the container and that of its store.
  if (process_ != nullptr && (read_ttl_(database) != 0 || (definition && *definition && (*definition)->by_container))) {
    container_changed();
  }
}

DatabaseAnalytics::~DatabaseAnalytics() {
  shut_down();
}

void DatabaseAnalytics::resume(partitioning::Engine& engine) {
  remove_unused_group_files(engine);
  query::open_sources(engine, "databases with an analytical store", databases_with_store);
}

DatabaseAnalytics::EntryPtr DatabaseAnalytics::entry() const {
  const std::lock_guard lock(mutex_);
  return entry_;
}

// Called with change_mutex_ held. Null: the store ends.
void DatabaseAnalytics::replace(EntryPtr next) {
  if (next && process_ != nullptr) {
    next->feed = std::make_shared<TableFeed>(database_, next->definition, *process_);
    next->follower = std::make_shared<Follower>(context_, next->feed);
  }
  EntryPtr before;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    before = std::exchange(entry_, next);
    held = std::exchange(keeps_open_, next && next->feed ? database_.weak_from_this().lock() : nullptr);
    any_.store(next != nullptr, std::memory_order_release);
  }
  if (before && before->follower) {
    before->follower->set_stopping(true);
    before->feed->close();
  }
  if (before && !before->definition.group.empty()) remove_files(place_of(database_, before->definition));
  if (next) remove_files_but(next->definition.id);
  if (next && next->feed) start(next);
}

// Those of former definitions, which a crash may have left.
void DatabaseAnalytics::remove_files_but(const std::string& id) const {
  std::error_code ignored;
  const auto folder = place_of(database_, {}).file.parent_path();
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    if (id.empty() || !file.path().filename().string().starts_with(id)) {
      std::filesystem::remove_all(file.path(), ignored);
    }
  }
}

void DatabaseAnalytics::start(const EntryPtr& entry) {
  jobs_.post([this, weak = std::weak_ptr(entry)] {
    if (const auto opened = weak.lock()) open(opened, open_retry_min);
  });
}

void DatabaseAnalytics::open(const EntryPtr& entry, milliseconds retry) {
  const auto opened = run_guarded("opening an analytical store", [&] { return entry->feed->open(); });
  if (opened) {
    {
      const std::lock_guard lock(entry->mutex);
      entry->unopened.reset();
    }
    entry->is_open.store(true, std::memory_order_release);
    progress_.notify_all();
    entry->follower->wake();
    plan_expiration(entry, milliseconds(0));
    return;
  }
  {
    const std::lock_guard lock(entry->mutex);
    if (!entry->unopened || entry->unopened->reason != opened.error().reason) {
      spdlog::warn("database {}: the analytical store waits: {}", database_.name(), opened.error().reason);
    }
    entry->unopened = opened.error();
  }
  progress_.notify_all();
  jobs_.post_after(retry, [this, weak = std::weak_ptr(entry), retry] {
    if (const auto again = weak.lock()) open(again, std::min(2 * retry, open_retry_max));
  });
}

// Whether or not documents change.
void DatabaseAnalytics::remove_expired(const EntryPtr& entry) {
  if (this->entry() != entry) return;
  const auto begun = std::chrono::steady_clock::now();
  const auto more = run_guarded("removing expired rows", [&] { return entry->feed->remove_expired(); });
  const auto took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - begun);
  const std::int64_t ttl = entry->feed->ttl_s();
  if (!more) return plan_expiration(entry, open_retry_max);
  if (*more) return plan_expiration(entry, std::max(batch_pause_min, batch_pause_factor * took));
  if (ttl <= 0) return;
  plan_expiration(entry, std::clamp(milliseconds(std::chrono::seconds(ttl)) / expiration_parts, expiration_pause_min,
                                    expiration_pause_max));
}

void DatabaseAnalytics::plan_expiration(const EntryPtr& entry, milliseconds delay) {
  jobs_.post_after(delay, [this, weak = std::weak_ptr(entry)] {
    if (const auto expiring = weak.lock()) remove_expired(expiring);
  });
}

Expected<void> DatabaseAnalytics::define(Definition definition) {
  const std::lock_guard changing(change_mutex_);
  if (process_ == nullptr) return fail(ErrorCode::unsupported, "Analytics are not enabled.");
  const EntryPtr before = entry();
  // A library that cannot be used is told to the client, not to the log only. A process that starts again is waited
  // for.
  if (const auto channel = process_->connect(); !channel && !may_pass(channel.error())) {
    return std::unexpected(channel.error());
  }
  if (const std::int64_t ttl_s = read_ttl_(database_); ttl_s != 0) {
    OCTAVO_TRY(definition, definition.with_ttl(ttl_s));
    definition.by_container = before && before->definition.by_container;
  }
  return define_with_lock(std::move(definition));
}

// Called with change_mutex_ held.
Expected<void> DatabaseAnalytics::define_with_lock(Definition definition) {
  const EntryPtr before = entry();
  if (before && before->definition.json == definition.json) return {};
  const bool keeps_table = before && before->definition.differs_in_ttl_only(definition);
  if (keeps_table) {
    definition.id = before->definition.id;
    definition.rereads = before->definition.rereads + (before->definition.lacks_rows_of(definition) ? 1 : 0);
  }
  OCTAVO_TRY_VOID(store_definition(database_, definition));
  auto next = std::make_shared<Entry>(std::move(definition));
  if (keeps_table) {
    take_over(*before, next);
  } else {
    replace(std::move(next));
  }
  return {};
}

// Called with change_mutex_ held. The table and what feeds it stay.
void DatabaseAnalytics::take_over(const Entry& before, const EntryPtr& next) {
  next->feed = before.feed;
  next->follower = before.follower;
  next->is_open.store(before.is_open.load());
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    entry_ = next;
  }
  next->feed->change_ttl(next->definition);
  if (!next->is_open.load()) return start(next);
  next->follower->wake();
  plan_expiration(next, milliseconds(0));
}

Expected<void> DatabaseAnalytics::remove() {
  const std::lock_guard changing(change_mutex_);
  if (read_ttl_(database_) != 0) {
    return fail(ErrorCode::bad_request,
                "The container asks for its analytical store: set its analyticalStorageTtl to 0.");
  }
  return remove_with_lock();
}

// Called with change_mutex_ held.
Expected<void> DatabaseAnalytics::remove_with_lock() {
  OCTAVO_TRY(const auto definition, definition_of(database_.engine().catalog(), database_.instance_tag()));
  if (!definition) return no_store();
  OCTAVO_TRY_VOID(erase_definition(database_));
  replace(nullptr);
  remove_files_but("");
  return {};
}

void DatabaseAnalytics::container_changed() {
  if (process_ == nullptr) return;
  jobs_.post([this] {
    if (const auto followed = run_guarded("the store of a container", [&] { return follow_container(); }); !followed) {
      spdlog::error("database {}: the analytical store that it asks for: {}", database_.name(),
                    followed.error().reason);
      jobs_.post_after(open_retry_max, [this] { container_changed(); });
    }
  });
}

Expected<void> DatabaseAnalytics::follow_container() {
  const std::lock_guard changing(change_mutex_);
  if (database_.deleted()) return {};
  const std::int64_t ttl_s = read_ttl_(database_);
  OCTAVO_TRY(const auto stored, definition_of(database_.engine().catalog(), database_.instance_tag()));
  if (ttl_s == 0) return stored && stored->by_container ? remove_with_lock() : Expected<void>{};
  if (stored && stored->ttl_s == ttl_s) return {};
  if (stored && !entry()) {  // it is being opened
    jobs_.post_after(open_retry_min, [this] { container_changed(); });
    return {};
  }
  OCTAVO_TRY(auto wanted, stored ? stored->with_ttl(ttl_s) : Definition::of_container(database_.name(), ttl_s));
  if (!stored) {
    const std::string name = wanted.group;
    OCTAVO_TRY(const auto key, key_of_group(database_.engine().catalog(), name));
    wanted.enter_group(name, key);
  }
  const auto defined = define_with_lock(wanted);
  if (defined || defined.error().code != ErrorCode::conflict) return defined;
  // Ids of containers may differ in the case of letters only.
  OCTAVO_TRY(wanted, wanted.with_name(fmt::format("{}_{}", wanted.as, database_.instance_tag().substr(0, 8))));
  return define_with_lock(std::move(wanted));
}

std::optional<DatabaseAnalytics::View> DatabaseAnalytics::view() {
  const EntryPtr shown = entry();
  View view;
  if (shown) {
    view.definition = shown->definition;
  } else {
    // It may not have been opened yet.
    const auto definition = definition_of(database_.engine().catalog(), database_.instance_tag());
    if (!definition || !*definition) return std::nullopt;
    view.definition = **definition;
  }
  view.place = place_of(database_, view.definition);
  if (!view.definition.group.empty()) {
    const auto name = name_of_group(database_.engine().catalog(), view.definition.group);
    if (name) view.definition.json["group"] = *name;
  }
  if (!shown) {
    view.state = process_ != nullptr ? "building" : "disabled";
    return view;
  }
  if (!shown->feed) {
    view.state = "disabled";
    return view;
  }
  view.sequence = shown->feed->checkpoint();
  view.behind = database_.changes_after(view.sequence);
  {
    const std::lock_guard lock(shown->mutex);
    view.failure = shown->unopened;
  }
  if (!view.failure) view.failure = shown->follower->failure();
  view.state = view.failure ? "waiting" : shown->follower->is_complete() ? "following" : "building";
  return view;
}

Expected<bool> DatabaseAnalytics::is_reached(const partitioning::Database& database, const Entry& entry,
                                             storage::Sequence sequence) {
  OCTAVO_TRY(const partitioning::HiddenDeletions hidden, database.hidden_deletions());
  return entry.feed->checkpoint() >= sequence && entry.feed->purge_count() >= hidden.purge_count &&
         (entry.feed->built() || entry.follower->is_complete());
}

Task<Expected<void>> DatabaseAnalytics::wait(storage::Sequence sequence,
                                             std::chrono::steady_clock::time_point deadline) {
  const auto keep_database = database_.shared_from_this();
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    const EntryPtr found = entry();
    if (!found && !any_.load(std::memory_order_acquire)) co_return no_store();
    if (found && !found->feed)
      co_return fail(ErrorCode::unsupported, "Analytics are not enabled.", "analytics_disabled");
    if (found && found->is_open.load(std::memory_order_acquire)) {
      std::function<Expected<bool>()> is_there = [this, found, sequence] {
        return is_reached(database_, *found, sequence);
      };
      co_return co_await found->follower->wait(std::move(is_there), deadline);
    }
    if (found) {
      const std::lock_guard lock(found->mutex);
      if (found->unopened && !may_pass(*found->unopened)) co_return std::unexpected(*found->unopened);
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) co_return fail(ErrorCode::timeout, "The analytical store is not open yet.");
  }
}

Expected<std::string> DatabaseAnalytics::group() const {
  OCTAVO_TRY(const auto definition, definition_of(database_.engine().catalog(), database_.instance_tag()));
  return definition ? definition->group : std::string();
}

Expected<TablePlace> DatabaseAnalytics::table() {
  constexpr std::string_view opens = "The analytical store is being opened: try again.";
  const EntryPtr found = entry();
  if (!found) {
    OCTAVO_TRY(const auto definition, definition_of(database_.engine().catalog(), database_.instance_tag()));
    if (!definition) return no_store();
    return fail(ErrorCode::overloaded, std::string(opens));
  }
  if (!found->feed || !found->is_open.load(std::memory_order_acquire)) {
    const std::lock_guard lock(found->mutex);
    if (found->unopened) return std::unexpected(*found->unopened);
    return fail(ErrorCode::overloaded, std::string(opens));
  }
  if (!found->feed->built() && !found->follower->is_complete()) {
    return fail(
        ErrorCode::overloaded,
        fmt::format("The table is being built: it has the database up to the sequence {} of {}. Try again later.",
                    found->feed->checkpoint(), database_.watermark()));
  }
  return place_of(database_, found->definition);
}

void DatabaseAnalytics::committed() {
  if (!any_.load(std::memory_order_relaxed) || planned_.exchange(true, std::memory_order_acq_rel)) return;
  const EntryPtr followed = entry();
  const auto last = followed && followed->feed ? followed->feed->last_batch() : milliseconds(0);
  jobs_.post_after(std::max(batch_pause_min, batch_pause_factor * last), [this] {
    planned_.store(false, std::memory_order_release);
    wake();
  });
}

void DatabaseAnalytics::wake() {
  const EntryPtr followed = entry();
  if (followed && followed->is_open.load(std::memory_order_acquire)) followed->follower->wake();
}

storage::Sequence DatabaseAnalytics::followed_through() const {
  constexpr auto all = std::numeric_limits<storage::Sequence>::max();
  const EntryPtr followed = any_.load(std::memory_order_acquire) ? entry() : nullptr;
  if (!followed || !followed->follower || !followed->is_open.load(std::memory_order_acquire)) return all;
  return followed->follower->makes_progress() ? followed->feed->checkpoint() : all;
}

void DatabaseAnalytics::shut_down() {
  EntryPtr followed;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    followed = std::exchange(entry_, nullptr);
    held = std::exchange(keeps_open_, nullptr);
  }
  if (followed && followed->follower) {
    followed->follower->set_stopping(true);
    followed->feed->interrupt();
  }
  context_.shut_down = true;
  jobs_.stop();
  if (followed && followed->follower) {
    followed->follower->end_task();
    followed->feed->close();
  }
  if (followed && database_.deleted() && !followed->definition.group.empty()) {
    remove_files(place_of(database_, followed->definition));
  }
  progress_.notify_all();
}

}  // namespace octavo::analytics
