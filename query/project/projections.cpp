#include "query/project/projections.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "partitioning/scan.h"
#include "query/project/projection_catalog.h"

namespace octavo::query::project {

namespace {

using Clock = std::chrono::steady_clock;

// Commits within this time make one batch, unless a request waits.
constexpr std::chrono::milliseconds commit_delay{20};
constexpr std::chrono::milliseconds refused_interval{30'000};
constexpr std::chrono::milliseconds removal_retry{2'000};
constexpr std::string_view folder_prefix = "projection-";

std::unexpected<Error> no_projection() {
  return fail(ErrorCode::not_found, "There is no projection of this name.");
}

// A projection that has the target to itself would hide the documents that are there.
Expected<void> require_empty(partitioning::Database& target) {
  bool has_some = false;
  partitioning::DocumentScan scan(target, {});
  const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot&) {
    has_some = has_some || (!record.deleted && !storage::is_design_id(record.id));
    return has_some ? partitioning::Visit::stop : partitioning::Visit::next;
  };
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more && !has_some) {
    OCTAVO_TRY(state, scan.run_records(partitioning::ScanBudget::worker_slice(), visit));
  }
  if (!has_some) return {};
  return fail(ErrorCode::conflict,
              fmt::format("{} has documents, so it cannot belong to a projection alone.", target.name()),
              "not_exclusive");
}

}  // namespace

/// One projection and its follower.
struct Projections::Entry {
  ProjectionRecord record;  ///< guarded by mutex_
  std::shared_ptr<Projection> projection;
  std::shared_ptr<FeedFollower> follower;
  std::optional<Error> unopened;  ///< why its files could not be opened
  /// It had the whole feed once. Shared with the follower.
  std::shared_ptr<std::atomic<bool>> built = std::make_shared<std::atomic<bool>>(false);
};

namespace {

class ProjectionFollower final : public FeedFollower {
 public:
  ProjectionFollower(FollowContext& context, std::shared_ptr<Projection> projection,
                     std::shared_ptr<std::atomic<bool>> built)
      : FeedFollower(context, *projection, options_of(projection->record())),
        projection_(std::move(projection)),
        built_(std::move(built)) {}

 private:
  static Options options_of(const ProjectionRecord& record) {
    Options options;
    options.subject = "projection " + record.name;
    options.task.type = "projection";
    options.task.index = record.name;
    options.rows_first = 256;
    return options;
  }
  void caught_up() override { built_->store(true, std::memory_order_release); }

  const std::shared_ptr<Projection> projection_;
  const std::shared_ptr<std::atomic<bool>> built_;
};

}  // namespace

Projections::Projections(partitioning::Database& database, ActiveTasks* tasks, FormReader read_form)
    : database_(database),
      read_form_(read_form),
      context_{database, tasks, jobs_, progress_, nullptr},
      jobs_(database.engine().indexers()) {
  load_owners();
  if (read_form_ == nullptr) return;
  const auto records = projections_of(database.engine().catalog(), database.instance_tag());
  if (!records) {
    spdlog::error("database {}: its projections cannot be read: {}", database.name(), records.error().reason);
  } else if (!records->empty()) {
    any_.store(true, std::memory_order_release);
    jobs_.post([this] { load(); });
  }
}

Projections::~Projections() {
  shut_down();
}

void Projections::resume(partitioning::Engine& engine) {
  boost::asio::post(engine.workers().pool(), [&engine] {
    const auto names = run_guarded("opening projections", [&] { return sources(engine.catalog()); });
    if (!names) {
      spdlog::error("the databases with projections cannot be listed: {}", names.error().reason);
      return;
    }
    for (const std::string& name : *names) {
      const auto opened = run_guarded("opening projections", [&] { return engine.open_database(name); });
      if (!opened && opened.error().code == ErrorCode::overloaded) return;  // the server is shutting down
    }
  });
}

// --- what is defined ---

void Projections::load() {
  const std::lock_guard changing(change_mutex_);
  {
    const std::lock_guard lock(mutex_);
    if (loaded_ || stopping_->load()) return;
  }
  const auto records = projections_of(database_.engine().catalog(), database_.instance_tag());
  if (!records) {
    spdlog::error("database {}: its projections cannot be read: {}", database_.name(), records.error().reason);
    return;
  }
  remove_strays(*records);
  std::vector<EntryPtr> opened;
  for (const ProjectionRecord& record : *records) opened.push_back(open(record));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return;
    entries_ = opened;
    loaded_ = true;
    if (!opened.empty()) keeps_open_ = database_.shared_from_this();
  }
  any_.store(!opened.empty(), std::memory_order_release);
  for (const EntryPtr& entry : opened) start(entry);
  if (!opened.empty()) jobs_.post_after(refused_interval, [this] { retry_refused(); });
}

// Left by a crash while a projection was removed.
void Projections::remove_strays(const std::vector<ProjectionRecord>& records) const {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(database_.folder(), error)) {
    if (!name.starts_with(folder_prefix)) continue;
    const std::string_view identity = std::string_view(name).substr(folder_prefix.size());
    if (std::ranges::find(records, identity, &ProjectionRecord::identity) != records.end()) continue;
    std::error_code ignored;
    storage::remove_folder(database_.folder() / name, ignored);
  }
}

Projections::EntryPtr Projections::open(ProjectionRecord record) {
  auto entry = std::make_shared<Entry>();
  entry->projection = std::make_shared<Projection>(database_, record, Projection::Options{read_form_, stopping_});
  entry->record = std::move(record);
  const auto opened = entry->projection->open();
  if (!opened) {
    spdlog::error("database {}: the projection {} cannot be opened: {}", database_.name(), entry->record.name,
                  opened.error().reason);
    entry->unopened = opened.error();
    return entry;
  }
  entry->built->store(entry->projection->checkpoint() > 0);
  entry->follower = std::make_shared<ProjectionFollower>(context_, entry->projection, entry->built);
  return entry;
}

void Projections::start(const EntryPtr& entry) {
  if (!entry->follower) return;
  bool removing = false;
  bool paused = false;
  {
    const std::lock_guard lock(mutex_);
    removing = entry->record.removing;
    paused = entry->record.paused;
  }
  entry->follower->set_stopping(removing || paused);
  if (removing) {
    jobs_.post([this, entry] { finish_removal(entry); });
  } else if (!paused) {
    entry->follower->wake();
  }
}

std::vector<Projections::EntryPtr> Projections::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

Projections::EntryPtr Projections::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const EntryPtr& one) { return one->record.name == name; });
  return found == entries_.end() ? nullptr : *found;
}

Expected<void> Projections::add(std::string name, ProjectionDefinition definition, partitioning::Database& target) {
  if (read_form_ == nullptr) return fail(ErrorCode::unsupported, "The engine was opened without projections.");
  load();
  OCTAVO_TRY(const auto into, read_form_(target));
  OCTAVO_TRY_VOID(RowProgram::compile(definition, *into, target.partitioned()));
  const std::lock_guard changing(change_mutex_);
  if (find(name)) return fail(ErrorCode::conflict, "There is a projection of this name.");
  if (definition.exclusive) OCTAVO_TRY_VOID(require_empty(target));
  OCTAVO_TRY(auto record,
             add_projection(database_.engine().catalog(), database_, target, std::move(name), std::move(definition)));
  // Before the first row: clients must not change it.
  tell_target(record);
  const EntryPtr entry = open(std::move(record));
  bool is_first = false;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
    is_first = entries_.empty();
    entries_.push_back(entry);
    keeps_open_ = database_.shared_from_this();
  }
  any_.store(true, std::memory_order_release);
  start(entry);
  if (is_first) jobs_.post_after(refused_interval, [this] { retry_refused(); });
  return {};
}

Expected<void> Projections::change(const EntryPtr& entry, const std::function<void(ProjectionRecord&)>& edit) {
  ProjectionRecord record;
  {
    const std::lock_guard lock(mutex_);
    record = entry->record;
  }
  edit(record);
  OCTAVO_TRY_VOID(replace_projection(database_.engine().catalog(), database_.instance_tag(), record));
  const std::lock_guard lock(mutex_);
  entry->record = std::move(record);
  return {};
}

Expected<void> Projections::pause(std::string_view name, bool paused) {
  load();
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  OCTAVO_TRY_VOID(change(entry, [&](ProjectionRecord& record) { record.paused = paused; }));
  start(entry);
  progress_.notify_all();
  return {};
}

Expected<void> Projections::begin_again(std::string_view name) {
  load();
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  if (!entry->follower) return std::unexpected(*entry->unopened);
  entry->built->store(false);
  entry->projection->begin_again();
  entry->follower->wake();
  return {};
}

Expected<void> Projections::remove(std::string_view name, std::optional<std::uint64_t> generation, bool keeps_rows) {
  load();
  const std::lock_guard changing(change_mutex_);
  const EntryPtr entry = find(name);
  if (!entry) return no_projection();
  if (generation && *generation != entry->record.generation) {
    return fail(ErrorCode::conflict, "The projection has changed: read its present `rev`.");
  }
  if (entry->follower) entry->follower->set_stopping(true);
  if (keeps_rows || !entry->follower) return drop(entry);
  OCTAVO_TRY_VOID(change(entry, [](ProjectionRecord& record) { record.removing = true; }));
  start(entry);
  return {};
}

// Its rows are removed, or stay as ordinary documents.
Expected<void> Projections::drop(const EntryPtr& entry) {
  OCTAVO_TRY_VOID(erase_projection(database_.engine().catalog(), database_.instance_tag(), entry->record));
  tell_target(entry->record);
  {
    const std::lock_guard lock(mutex_);
    std::erase(entries_, entry);
    if (entries_.empty()) keeps_open_.reset();
    any_.store(!entries_.empty(), std::memory_order_release);
  }
  entry->projection->remove_files();
  progress_.notify_all();
  return {};
}

void Projections::finish_removal(const EntryPtr& entry) {
  auto removed = run_guarded("removing a projection's rows", [&] { return entry->projection->remove_rows(); });
  if (stopping_->load()) return;
  const bool is_target_gone = !removed && removed.error().code == ErrorCode::not_found;
  if (removed || is_target_gone) {
    const auto held = database_.shared_from_this();
    const std::lock_guard changing(change_mutex_);
    removed = drop(entry);
  }
  if (removed) return;
  spdlog::warn("database {}: the projection {} cannot be removed yet: {}", database_.name(), entry->record.name,
               removed.error().reason);
  jobs_.post_after(removal_retry, [this, entry] { finish_removal(entry); });
}

// --- owners ---

void Projections::tell_target(const ProjectionRecord& record) const {
  const auto target = database_.engine().open_database(record.definition.target);
  if (!target || (*target)->instance_tag() != record.target_tag) return;
  if (auto* const extension = (*target)->extension()) extension->owners_changed();
}

void Projections::load_owners() {
  auto owners = owners_of(database_.engine().catalog(), database_.instance_tag());
  if (!owners) {
    spdlog::error("database {}: which projections write into it cannot be read: {}", database_.name(),
                  owners.error().reason);
    return;
  }
  owners_.store(owners->owners.empty() ? nullptr : std::make_shared<const storage::DocumentOwners>(*std::move(owners)));
  apply_owners();
}

void Projections::apply_owners() {
  const auto owners = owners_.load();
  for (const auto& partition : database_.partition_map().partitions()) {
    if (partition) partition->set_owners(owners);
  }
}

// --- following ---

void Projections::committed() {
  if (!any_.load(std::memory_order_relaxed)) return;
  if (context_.waiters.load(std::memory_order_relaxed) > 0) wake_all();
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(commit_delay, [this] {
    wake_planned_.store(false, std::memory_order_release);
    wake_all();
  });
}

void Projections::wake_all() {
  std::vector<EntryPtr> all;
  until_memory_suffices([&] { all = entries(); });
  for (const EntryPtr& entry : all) {
    if (entry->follower) entry->follower->wake();
  }
}

void Projections::retry_refused() {
  const auto all = entries();
  for (const EntryPtr& entry : all) {
    if (!entry->follower || !entry->follower->makes_progress()) continue;
    const auto retried =
        run_guarded("writing rows that were refused", [&] { return entry->projection->retry_refused(); });
    if (!retried) spdlog::warn("database {}: {}", database_.name(), retried.error().reason);
  }
  if (!all.empty()) jobs_.post_after(refused_interval, [this] { retry_refused(); });
}

storage::Sequence Projections::followed_through() const {
  storage::Sequence least = std::numeric_limits<storage::Sequence>::max();
  for (const EntryPtr& entry : entries()) {
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
  std::function<Expected<bool>()> is_reached = [projection = entry->projection, sequence]() -> Expected<bool> {
    return projection->complete_through() >= sequence;
  };
  co_return co_await entry->follower->wait(std::move(is_reached), deadline);
}

// --- what is shown ---

Projections::View Projections::view_of(const Entry& entry) const {
  View view;
  {
    const std::lock_guard lock(mutex_);
    view.record = entry.record;
  }
  view.watermark = database_.watermark();
  view.status = entry.projection->status();
  view.current_through = entry.projection->complete_through();
  const auto failure = entry.follower ? entry.follower->failure() : entry.unopened;
  if (failure) view.failure = failure->reason;
  if (view.record.removing) {
    view.state = "removing";
  } else if (view.record.paused) {
    view.state = "paused";
  } else if (failure) {
    view.state = may_pass(*failure) ? "waiting" : "failed";
  } else {
    if (view.current_through >= view.watermark) entry.built->store(true);
    view.state = entry.built->load() ? "active" : "building";
  }
  return view;
}

std::vector<Projections::View> Projections::views() {
  if (any_.load(std::memory_order_acquire)) load();
  std::vector<View> all;
  for (const EntryPtr& entry : entries()) all.push_back(view_of(*entry));
  return all;
}

std::optional<Projections::View> Projections::view(std::string_view name) {
  if (any_.load(std::memory_order_acquire)) load();
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
    all = entries_;
    held = std::move(keeps_open_);
    for (const EntryPtr& entry : entries_) {
      if (entry->follower) entry->follower->set_stopping(true);
    }
  }
  context_.shut_down = true;
  jobs_.stop();
  for (const EntryPtr& entry : all) {
    if (entry->follower) entry->follower->end_task();
  }
  progress_.notify_all();
  if (!database_.deleted() || !held) return;
  // Its rows become ordinary documents.
  for (const EntryPtr& entry : all) tell_target(entry->record);
}

std::size_t Projections::open_store_count() const {
  const auto all = entries();
  return static_cast<std::size_t>(
      std::ranges::count_if(all, [](const EntryPtr& entry) { return entry->projection->store().is_open(); }));
}

std::uint64_t Projections::last_used_ms() const {
  std::uint64_t newest = 0;
  for (const EntryPtr& entry : entries()) newest = std::max(newest, entry->projection->store().last_used_ms());
  return newest;
}

std::size_t Projections::close_idle(std::uint64_t last_used_before_ms) {
  std::size_t closed = 0;
  for (const EntryPtr& entry : entries()) {
    auto& store = entry->projection->store();
    if (store.is_open() && store.last_used_ms() <= last_used_before_ms && store.close_if_idle()) ++closed;
  }
  return closed;
}

}  // namespace octavo::query::project
