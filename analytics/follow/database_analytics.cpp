#include "analytics/follow/database_analytics.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "query/follow/open_sources.h"

namespace octavo::analytics {

namespace {

using std::chrono::milliseconds;

// A batch costs more the more rows there are: the next one waits ten times as long, so that following takes a tenth of
// a processor.
constexpr milliseconds batch_pause_min{1'000};
constexpr int batch_pause_factor = 10;
constexpr milliseconds container_retry_min{500};
constexpr milliseconds container_retry_max{10'000};
// The table that answers may be ahead of the one that is to replace it, by a batch.
constexpr milliseconds building_retry{300};

std::unexpected<Error> no_store() {
  return fail(ErrorCode::not_found, "The database has no analytical store: PUT /{db}/_analytics makes one.");
}

}  // namespace

DatabaseAnalytics::DatabaseAnalytics(partitioning::Database& database, ContainerTtl read_ttl, Process* process,
                                     boost::asio::thread_pool& pool, query::ActiveTasks* tasks)
    : database_(database),
      read_ttl_(read_ttl),
      process_(process),
      context_{database, tasks, jobs_, progress_, nullptr},
      jobs_(pool) {
  const auto stored = definitions_of(database.engine().catalog(), database.instance_tag());
  if (!stored) {
    spdlog::error("database {}: its analytical store: {}", database.name(), reason_of(stored.error()));
  } else if (*stored) {
    jobs_.post([this, definitions = **stored] {
      const std::lock_guard changing(change_mutex_);
      {
        const std::lock_guard lock(mutex_);
        if (tables_.answering || stopped_) return;
      }
      Tables found{make_table(definitions.answering), nullptr};
      if (definitions.building && process_ != nullptr) {
        found.building = make_building(*definitions.building);
        found.building->feed().forget_place();  // it may have taken it before a crash
      }
      if (process_ != nullptr) set_builds(found, definitions.last_build);
      replace(found);
    });
    any_.store(true, std::memory_order_release);
  }
  // A crash may have come between the change of the container and that of its store.
  const bool may_ask = stored && *stored && (*stored)->answering.by_container;
  if (process_ != nullptr && (read_ttl_(database_) != 0 || may_ask)) container_changed();
}

DatabaseAnalytics::~DatabaseAnalytics() {
  shut_down();
}

void DatabaseAnalytics::resume(partitioning::Engine& engine) {
  remove_unused_group_files(engine);
  query::open_sources(engine, "databases with an analytical store", databases_with_store);
}

DatabaseAnalytics::Tables DatabaseAnalytics::tables() const {
  const std::lock_guard lock(mutex_);
  return tables_;
}

std::uint64_t DatabaseAnalytics::last_build(const Tables& tables) {
  return std::max(tables.answering->feed().builds_ended(), tables.building ? tables.building->definition().build : 0);
}

// `last`: the largest number that has been used.
void DatabaseAnalytics::set_builds(const Tables& tables, std::uint64_t last) {
  const std::uint64_t building = tables.building ? tables.building->definition().build : 0;
  tables.answering->feed().set_builds(building != 0 ? building - 1 : last, building);
}

DatabaseAnalytics::TablePtr DatabaseAnalytics::make_table(const Definition& definition) {
  return std::make_shared<FollowedTable>(context_, definition, process_);
}

DatabaseAnalytics::TablePtr DatabaseAnalytics::make_building(const Definition& definition) {
  return std::make_shared<FollowedTable>(context_, definition, process_,
                                         [this] { plan_end_of_building(milliseconds(0)); });
}

// Called with change_mutex_ held. Null: the store ends. False: it was shut down.
bool DatabaseAnalytics::replace(const Tables& next) {
  Tables before;
  std::shared_ptr<partitioning::Database> held;
  const bool is_followed = next.answering && next.answering->is_followed();
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return false;
    before = std::exchange(tables_, next);
    held = std::exchange(keeps_open_, is_followed ? database_.weak_from_this().lock() : nullptr);
    any_.store(next.answering != nullptr, std::memory_order_release);
  }
  for (const TablePtr& table : {before.building, before.answering}) {
    if (!table || !table->is_followed()) continue;
    table->interrupt();
    table->close();
  }
  if (before.answering) {
    const Definition former = before.answering->definition();
    if (!former.group.empty()) remove_files(place_of(database_, former));
  }
  if (next.answering) remove_files_but(next.answering->definition().id);
  if (is_followed) next.answering->start();
  if (next.building) next.building->start();
  return true;
}

// Called with change_mutex_ held, when there is a table that answers. Null: nothing is built any more.
void DatabaseAnalytics::change_building(const TablePtr& next) {
  Tables former;
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    former = tables_;
    tables_.building = next;
  }
  set_builds({former.answering, next}, last_build(former));
  if (former.building) {
    former.building->interrupt();
    former.building->close();
    // What was built goes when the table that answers is opened, or the next one is made.
    if (!next) former.answering->start_again();
  }
  if (next) next->start();
  context_.progress.notify_all();
}

void DatabaseAnalytics::plan_end_of_building(milliseconds delay) {
  jobs_.post_after(delay, [this] { end_building(); });
}

// The table that was built takes the place of the one that answers.
void DatabaseAnalytics::end_building() {
  const std::lock_guard changing(change_mutex_);
  const Tables now = tables();
  if (!now.building || !now.building->is_open()) return;
  if (now.building->feed().is_beside() && !now.building->is_complete()) return;
  const auto taken = run_guarded("replacing the table of an analytical store",
                                 [&] { return now.building->feed().take_place_of(now.answering->feed()); });
  if (!taken) spdlog::warn("database {}: the analytical store: {}", database_.name(), reason_of(taken.error()));
  if (!taken || !*taken) {
    now.building->wake();
    return plan_end_of_building(building_retry);
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    tables_ = {now.building, nullptr};
  }
  now.answering->interrupt();
  now.answering->close();
  set_builds({now.building, nullptr}, last_build(now));
  const auto stored = store_definitions(database_, {now.building->definition(), std::nullopt, last_build(now)});
  // The next start finds the table in its place, and stores the definition then.
  if (!stored) spdlog::error("database {}: the analytical store: {}", database_.name(), reason_of(stored.error()));
  now.building->start();
  now.building->answer();
  context_.progress.notify_all();
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

Expected<void> DatabaseAnalytics::define(Definition definition) {
  const std::lock_guard changing(change_mutex_);
  if (process_ == nullptr) return fail(ErrorCode::unsupported, "Analytics are not enabled.");
  // A library that cannot be used is told to the client, not to the log only. A process that starts again is waited
  // for.
  if (const auto channel = process_->connect(); !channel && !may_pass(channel.error())) {
    return std::unexpected(channel.error());
  }
  if (const std::int64_t ttl_s = read_ttl_(database_); ttl_s != 0) {
    OCTAVO_TRY(definition, definition.with_ttl(ttl_s));
    const TablePtr before = tables().answering;
    definition.by_container = before && before->definition().by_container;
  }
  return define_with_lock(std::move(definition));
}

// Called with change_mutex_ held.
Expected<void> DatabaseAnalytics::define_with_lock(Definition definition) {
  const Tables before = tables();
  if (!before.answering) return define_in_new_file(std::move(definition));
  const Definition answering = before.answering->definition();
  const Definition latest = before.building ? before.building->definition() : answering;
  if (latest.json == definition.json) return {};
  if (before.building && (!before.building->feed().knows_place() || !before.building->feed().is_beside())) {
    return fail(ErrorCode::overloaded, "The table is being replaced: try again.");
  }
  definition.id = latest.id;
  for (const TablePtr& table : {before.building, before.answering}) {
    if (!table) continue;
    const Definition has = table->definition();
    const bool differs_in_ttl = has.differs_in_ttl_only(definition);
    if (!differs_in_ttl && has.json != definition.json) continue;
    definition.build = has.build;
    definition.rereads = has.rereads + (differs_in_ttl && has.lacks_rows_of(definition) ? 1 : 0);
    if (table == before.building) {
      OCTAVO_TRY_VOID(store_definitions(database_, {answering, definition, last_build(before)}));
    } else {
      OCTAVO_TRY_VOID(store_definitions(database_, {definition, std::nullopt, last_build(before)}));
      if (before.building) change_building(nullptr);
    }
    definition.group_name.clear();
    if (differs_in_ttl) table->change_ttl(std::move(definition));
    return {};
  }
  const bool is_useless = before.answering->is_open() && !before.answering->is_built();
  if (!answering.shares_place_with(definition) || is_useless) return define_in_new_file(std::move(definition));
  definition.build = last_build(before) + 1;
  OCTAVO_TRY_VOID(store_definitions(database_, {answering, definition, definition.build}));
  definition.group_name.clear();
  change_building(make_building(definition));
  return {};
}

// Called with change_mutex_ held. In another file.
Expected<void> DatabaseAnalytics::define_in_new_file(Definition definition) {
  definition.id = Definition::new_id();
  definition.build = 0;
  OCTAVO_TRY_VOID(store_definitions(database_, {definition, std::nullopt, definition.build}));
  definition.group_name.clear();
  replace({make_table(definition), nullptr});
  return {};
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
  replace({});
  remove_files_but("");
  return {};
}

void DatabaseAnalytics::container_changed() {
  if (process_ == nullptr) return;
  jobs_.post([this] {
    if (const auto followed = run_guarded("the store of a container", [&] { return follow_container(); }); !followed) {
      spdlog::error("database {}: the analytical store that it asks for: {}", database_.name(),
                    reason_of(followed.error()));
      jobs_.post_after(container_retry_max, [this] { container_changed(); });
    }
  });
}

Expected<void> DatabaseAnalytics::follow_container() {
  const std::lock_guard changing(change_mutex_);
  if (database_.deleted()) return {};
  const std::int64_t ttl_s = read_ttl_(database_);
  OCTAVO_TRY(const auto stored, definitions_of(database_.engine().catalog(), database_.instance_tag()));
  if (ttl_s == 0) return stored && stored->latest().by_container ? remove_with_lock() : Expected<void>{};
  if (stored && stored->latest().ttl_s == ttl_s) return {};
  if (stored && !tables().answering) {  // it is being opened
    jobs_.post_after(container_retry_min, [this] { container_changed(); });
    return {};
  }
  OCTAVO_TRY(auto wanted,
             stored ? stored->latest().with_ttl(ttl_s) : Definition::of_container(database_.name(), ttl_s));
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
  const Tables shown_tables = tables();
  const TablePtr& table = shown_tables.answering;
  View view;
  if (table) {
    view.definition = table->definition();
  } else {
    // It may not have been opened yet.
    const auto definition = definition_of(database_.engine().catalog(), database_.instance_tag());
    if (!definition || !*definition) return std::nullopt;
    view.definition = **definition;
  }
  view.place = place_of(database_, view.definition);
  view.definition.json = shown(view.definition);
  if (!table || !table->is_followed()) {
    view.state = process_ != nullptr ? "building" : "disabled";
    return view;
  }
  view.sequence = table->feed().checkpoint();
  view.behind = database_.changes_after(view.sequence);
  view.failure = table->failure();
  view.state = view.failure ? "waiting" : table->is_complete() ? "following" : "building";
  if (const TablePtr& building = shown_tables.building) {
    const auto sequence = building->feed().checkpoint();
    view.building = {shown(building->definition()), building->failure(), sequence, database_.changes_after(sequence)};
  }
  return view;
}

// With the name of the group.
boost::json::object DatabaseAnalytics::shown(const Definition& definition) const {
  boost::json::object json = definition.json;
  if (definition.group.empty()) return json;
  const auto name = name_of_group(database_.engine().catalog(), definition.group);
  if (name) json["group"] = *name;
  return json;
}

Task<Expected<void>> DatabaseAnalytics::wait(storage::Sequence sequence, bool built,
                                             std::chrono::steady_clock::time_point deadline) {
  const auto keep_database = database_.shared_from_this();
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    const Tables found = tables();
    const TablePtr& table = found.answering;
    if (database_.deleted()) co_return fail(ErrorCode::not_found, "Database does not exist.");
    if (!table && !any_.load(std::memory_order_acquire)) co_return no_store();
    if (table && !table->is_followed())
      co_return fail(ErrorCode::unsupported, "Analytics are not enabled.", "analytics_disabled");
    const bool waits_for_building = built && found.building;
    if (table && table->is_open() && !waits_for_building) {
      auto reached = co_await table->wait(sequence, deadline);
      // Another table may have taken its place meanwhile.
      if (reached || reached.error().code != ErrorCode::not_found || tables().answering == table) co_return reached;
      continue;
    }
    if (waits_for_building && found.building->is_open()) {
      const auto reached = co_await found.building->wait(sequence, deadline);
      if (!reached && reached.error().code != ErrorCode::not_found) co_return reached;
    }
    const TablePtr& opened = waits_for_building ? found.building : table;
    if (const auto failure = opened ? opened->unopened() : std::nullopt; failure && !may_pass(*failure)) {
      co_return std::unexpected(*failure);
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
  const TablePtr found = tables().answering;
  if (!found) {
    OCTAVO_TRY(const auto definition, definition_of(database_.engine().catalog(), database_.instance_tag()));
    if (!definition) return no_store();
    return fail(ErrorCode::overloaded, std::string(opens));
  }
  if (!found->is_followed()) return fail(ErrorCode::overloaded, std::string(opens));
  if (!found->is_open()) {
    if (auto unopened = found->unopened()) return std::unexpected(*std::move(unopened));
    return fail(ErrorCode::overloaded, std::string(opens));
  }
  if (!found->is_built()) {
    return fail(
        ErrorCode::overloaded,
        fmt::format("The table is being built: it has the database up to the sequence {} of {}. Try again later.",
                    found->feed().checkpoint(), database_.watermark()));
  }
  return place_of(database_, found->definition());
}

void DatabaseAnalytics::committed() {
  if (!any_.load(std::memory_order_relaxed) || planned_.exchange(true, std::memory_order_acq_rel)) return;
  const Tables followed = tables();
  milliseconds last{0};
  for (const TablePtr& table : {followed.answering, followed.building}) {
    if (table && table->is_followed()) last = std::max(last, table->last_batch());
  }
  jobs_.post_after(std::max(batch_pause_min, batch_pause_factor * last), [this] {
    planned_.store(false, std::memory_order_release);
    wake();
  });
}

void DatabaseAnalytics::wake() {
  const Tables followed = tables();
  for (const TablePtr& table : {followed.answering, followed.building}) {
    if (table && table->is_followed()) table->wake();
  }
}

storage::Sequence DatabaseAnalytics::followed_through() const {
  auto through = std::numeric_limits<storage::Sequence>::max();
  if (!any_.load(std::memory_order_acquire)) return through;
  const Tables followed = tables();
  for (const TablePtr& table : {followed.answering, followed.building}) {
    if (table && table->is_followed()) through = std::min(through, table->followed_through());
  }
  return through;
}

void DatabaseAnalytics::shut_down() {
  Tables followed;
  std::shared_ptr<partitioning::Database> held;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    followed = std::exchange(tables_, {});
    held = std::exchange(keeps_open_, nullptr);
  }
  const bool is_followed = followed.answering && followed.answering->is_followed();
  if (is_followed) followed.answering->interrupt();
  if (followed.building) followed.building->interrupt();
  context_.shut_down = true;
  jobs_.stop();
  if (is_followed) followed.answering->close();
  if (followed.building) followed.building->close();
  if (is_followed && database_.deleted()) {
    const Definition definition = followed.answering->definition();
    if (!definition.group.empty()) remove_files(place_of(database_, definition));
  }
  progress_.notify_all();
}

}  // namespace octavo::analytics
