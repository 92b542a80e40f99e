#include "query/project/projections.h"

#include <algorithm>
#include <utility>

#include <boost/asio/post.hpp>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "partitioning/engine.h"
#include "partitioning/scan.h"
#include "query/project/internal/projection_entry.h"
#include "query/project/projection_catalog.h"

namespace octavo::query::project {

namespace {

constexpr std::chrono::milliseconds removal_retry{2'000};
constexpr std::string_view folder_prefix = "projection-";

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

FeedFollower::Options follower_options(const ProjectionRecord& record) {
  FeedFollower::Options options;
  options.subject = "projection " + record.name;
  options.task.type = "projection";
  options.task.index = record.name;
  options.rows_first = 256;
  return options;
}

class ProjectionFollower final : public FeedFollower {
 public:
  ProjectionFollower(FollowContext& context, std::shared_ptr<Projection> projection,
                     std::shared_ptr<std::atomic<bool>> built)
      : FeedFollower(context, *projection, follower_options(projection->record())),
        projection_(std::move(projection)),
        built_(std::move(built)) {}

 private:
  void caught_up() override { built_->store(true, std::memory_order_release); }

  const std::shared_ptr<Projection> projection_;
  const std::shared_ptr<std::atomic<bool>> built_;
};

}  // namespace

Projections::Projections(partitioning::Database& database, ActiveTasks* tasks, FormReader read_form)
    : database_(database),
      read_form_(read_form),
      join_listener_(std::make_shared<JoinListener>()),
      on_join_commit_(std::make_shared<const partitioning::DatabaseExtension::CommitListener>(
          [listener = join_listener_] { listener->committed(); })),
      context_{database, tasks, jobs_, progress_, nullptr},
      jobs_(database.engine().indexers()) {
  join_listener_->owner = this;
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
  entry->projection = std::make_shared<Projection>(database_, record,
                                                   Projection::Options{read_form_, stopping_, [this] { plan_wake(); }});
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
  follow_joins(*entry);
  return entry;
}

// A joined database that is missing lets the projection fail with its next batch.
void Projections::follow_joins(Entry& entry) {
  for (std::size_t join = 0; join < entry.record.definition.joins.size(); ++join) {
    auto input = entry.projection->open_join(join);
    if (!input) {
      spdlog::warn("database {}: the projection {}: {}", database_.name(), entry.record.name, input.error().reason);
      continue;
    }
    entry.join_contexts.emplace_back(new FollowContext{*input->database, context_.tasks, jobs_, progress_, nullptr});
    entry.join_followers.push_back(
        std::make_shared<FeedFollower>(*entry.join_contexts.back(), *input->consumer, follower_options(entry.record)));
    if (input->database.get() != &database_) {
      if (auto* const extension = input->database->extension()) extension->add_commit_listener(on_join_commit_);
      entry.joined.push_back(std::move(input->database));
    }
  }
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
  entry->set_stopping(removing || paused);
  if (removing) {
    jobs_.post([this, entry] { finish_removal(entry); });
  } else if (!paused) {
    entry->wake();
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

Expected<void> Projections::add(std::string name, ProjectionDefinition definition, partitioning::Database& target,
                                std::span<const std::shared_ptr<partitioning::Database>> joined) {
  if (read_form_ == nullptr) return fail(ErrorCode::unsupported, "The engine was opened without projections.");
  load();
  OCTAVO_TRY(const auto into, read_form_(target));
  std::vector<JoinedDatabase> inputs;
  for (const auto& one : joined) {
    OCTAVO_TRY(auto form, read_form_(*one));
    inputs.push_back({one, std::move(form)});
  }
  OCTAVO_TRY_VOID(RowProgram::compile(definition, *into, target.partitioned(), inputs));
  const std::lock_guard changing(change_mutex_);
  if (find(name)) return fail(ErrorCode::conflict, "There is a projection of this name.");
  if (definition.exclusive) OCTAVO_TRY_VOID(require_empty(target));
  OCTAVO_TRY(auto record, add_projection(database_.engine().catalog(), database_, target, inputs, std::move(name),
                                         std::move(definition)));
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
  entry->wake();
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
  entry->set_stopping(true);
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

}  // namespace octavo::query::project
