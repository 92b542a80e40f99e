#include "query/project/projections.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "partitioning/engine.h"
#include "partitioning/scan.h"
#include "query/follow/open_sources.h"
#include "query/javascript/transform.h"
#include "query/project/internal/projection_entry.h"
#include "query/project/projection_catalog.h"
#include "query/project/target/projection_target.h"

namespace octavo::query::project {

namespace {

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

std::unexpected<Error> without_forms() {
  return fail(ErrorCode::unsupported, "The engine was opened without projections.");
}

Expected<void> check_function(const std::string& transform) {
  auto checked = javascript::check_transform(transform);
  if (checked || checked.error().code != ErrorCode::bad_request) return checked;
  return fail(ErrorCode::bad_request, "The function of `transform` is not valid: " + checked.error().reason,
              "projection_syntax");
}

std::unexpected<Error> is_there() {
  return fail(ErrorCode::conflict, "There is a projection of this name.");
}

FeedFollower::Options follower_options(const ProjectionRecord& record) {
  FeedFollower::Options options;
  options.subject = "projection " + record.name;
  options.task.type = "projection";
  options.task.index = record.name;
  options.rows_first = 256;
  options.share = record.definition.share;
  return options;
}

/// Keeps what it uses, as its last job may end after the projection is gone.
class ProjectionFollower final : public FeedFollower {
 public:
  ProjectionFollower(std::shared_ptr<FollowContext> context, std::shared_ptr<Projection> projection,
                     FeedConsumer& consumer, std::shared_ptr<std::atomic<bool>> built)
      : FeedFollower(*context, consumer, follower_options(projection->record())),
        context_(std::move(context)),
        projection_(std::move(projection)),
        built_(std::move(built)) {}

 private:
  void caught_up() override {
    if (built_) built_->store(true, std::memory_order_release);
  }

  const std::shared_ptr<FollowContext> context_;
  const std::shared_ptr<Projection> projection_;
  const std::shared_ptr<std::atomic<bool>> built_;  ///< null: it follows a joined database
};

}  // namespace

Projections::Projections(partitioning::Database& database, ActiveTasks* tasks, FormReader read_form, Carry carry)
    : database_(database),
      read_form_(read_form),
      carry_(carry),
      join_listener_(std::make_shared<JoinListener>()),
      on_join_commit_(std::make_shared<const partitioning::DatabaseExtension::CommitListener>(
          [listener = join_listener_] { listener->committed(); })),
      context_{database, tasks, jobs_, progress_, nullptr},
      function_context_{database, tasks, jobs_, progress_, &database.engine().slow_indexing()},
      jobs_(database.engine().indexers()) {
  join_listener_->owner = this;
  load_owners();
  if (read_form_ == nullptr) return;
  const auto records = projections_of(database.engine().catalog(), database.instance_tag());
  if (!records) {
    spdlog::error("database {}: its projections cannot be read: {}", database.name(), reason_of(records.error()));
    return;
  }
  any_.store(!records->empty(), std::memory_order_release);
  // Files of projections that another database has taken over may have been left by a crash.
  const auto replaced =
      database.engine().catalog().fact(storage::Catalog::area_of_database(database.instance_tag()), replaced_by_fact);
  if (!records->empty() || (replaced && *replaced)) jobs_.post([this] { load_in_background(); });
}

Projections::~Projections() {
  shut_down();
}

void Projections::resume(partitioning::Engine& engine) {
  open_sources(engine, "databases with projections", sources);
}

// --- what is defined ---

void Projections::load_in_background() {
  const auto loaded = run_guarded("opening projections", [this] { return load(); });
  if (loaded || stopping_->load()) return;
  spdlog::error("database {}: its projections cannot be read: {}", database_.name(), reason_of(loaded.error()));
  jobs_.post_after(load_retry, [this] { load_in_background(); });
}

Expected<void> Projections::load() {
  {
    const std::lock_guard lock(mutex_);
    if (loaded_) return {};
  }
  const std::lock_guard changing(change_mutex_);
  return load_once();
}

// Called with change_mutex_ held.
Expected<void> Projections::load_once() {
  {
    const std::lock_guard lock(mutex_);
    if (loaded_) return {};
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
  }
  const auto records = projections_of(database_.engine().catalog(), database_.instance_tag());
  if (!records) return std::unexpected(records.error());
  remove_strays(*records);
  std::vector<EntryPtr> opened;
  for (const ProjectionRecord& record : *records) opened.push_back(open(record));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
    entries_ = opened;
    loaded_ = true;
    if (!opened.empty()) keeps_open_ = database_.shared_from_this();
  }
  any_.store(!opened.empty(), std::memory_order_release);
  for (const EntryPtr& entry : opened) {
    // The server ended while its target was being created.
    if (entry->record.next && !entry->next) OCTAVO_TRY_VOID(drop_next(entry));
    start(entry);
  }
  if (!opened.empty()) plan_retry();
  return {};
}

// Left by a crash while a projection was removed, or changed.
void Projections::remove_strays(const std::vector<ProjectionRecord>& records) const {
  const auto is_known = [&](std::string_view identity) {
    return std::ranges::any_of(records, [&](const ProjectionRecord& record) {
      return record.identity == identity || record.former == identity ||
             (record.next && record.next->identity == identity);
    });
  };
  storage::remove_stray_folders(database_.folder(), folder_prefix, is_known);
}

Projections::EntryPtr Projections::open(ProjectionRecord record, bool is_hidden) {
  auto entry = std::make_shared<Entry>();
  entry->projection = std::make_shared<Projection>(
      database_, record,
      Projection::Options{read_form_, stopping_, [this] { plan_wake(); }, is_hidden || record.takes_over()});
  entry->record = std::move(record);
  entry->takes_over->store(entry->record.takes_over());
  const auto opened = entry->projection->open();
  if (!opened) {
    spdlog::error("database {}: the projection {} cannot be opened: {}", database_.name(), entry->record.name,
                  reason_of(opened.error()));
    entry->unopened = opened.error();
    return entry;
  }
  entry->built->store(entry->projection->checkpoint() > 0);
  // The context is a member of this, which stops the jobs before it ends.
  FollowContext& context = entry->record.definition.transform.empty() ? context_ : function_context_;
  entry->follower =
      std::make_shared<ProjectionFollower>(std::shared_ptr<FollowContext>(std::shared_ptr<void>(), &context),
                                           entry->projection, *entry->projection, entry->built);
  follow_joins(*entry);
  if (entry->unopened) {
    // All of it is opened again later.
    entry->follower.reset();
    entry->join_followers.clear();
    entry->projection->store().close_if_idle();
    return entry;
  }
  if (!entry->record.former.empty() && !entry->record.takes_over()) entry->former = open_former(entry->record);
  // Without a tag its target was just being created.
  const auto& next = entry->record.next;
  if (next && (!next->target || !next->target->tag.empty())) {
    entry->next = open(record_of_next(entry->record), !next->target);
  }
  return entry;
}

// A state that cannot be read leaves the rows that it has written, until the projection is rebuilt.
std::shared_ptr<ProjectionState> Projections::open_former(const ProjectionRecord& record) const {
  auto former = std::make_shared<ProjectionState>(
      ProjectionState::Options{.folder = database_.folder() / (std::string(folder_prefix) + record.former),
                               .durability = database_.engine().settings().durability,
                               .faults = database_.engine().faults()});
  const auto opened = former->open();
  if (opened) return former;
  spdlog::error("database {}: the former rows of the projection {} are not known: {}", database_.name(), record.name,
                reason_of(opened.error()));
  return nullptr;
}

// A joined database that is missing lets the projection fail with its next batch.
void Projections::follow_joins(Entry& entry) {
  for (std::size_t join = 0; join < entry.record.definition.joins.size(); ++join) {
    auto input = entry.projection->open_join(join);
    if (!input) {
      spdlog::warn("database {}: the projection {}: {}", database_.name(), entry.record.name, reason_of(input.error()));
      if (may_pass(input.error())) entry.unopened = input.error();
      continue;
    }
    std::shared_ptr<FollowContext> context(
        new FollowContext{*input->database, context_.tasks, jobs_, progress_, nullptr});
    entry.join_followers.push_back(
        std::make_shared<ProjectionFollower>(std::move(context), entry.projection, *input->consumer, nullptr));
    if (input->database.get() != &database_) {
      if (auto* const extension = input->database->extension()) extension->add_commit_listener(on_join_commit_);
      entry.joined.push_back(std::move(input->database));
    }
  }
}

void Projections::start(const EntryPtr& entry) {
  if (!entry->follower) return;
  ProjectionRecord record;
  EntryPtr next;
  {
    const std::lock_guard lock(mutex_);
    record = entry->record;
    next = entry->next;
  }
  for (const EntryPtr& one : {entry, next}) {
    if (!one) continue;
    one->set_stopping(record.removing || record.paused);
    if (record.removing || record.paused) continue;
    jobs_.post([one] {
      // An error is that of the next batch, too.
      static_cast<void>(
          run_guarded("looking at a projection's target", [&] { return one->projection->check_target(); }));
      one->wake();
    });
  }
  if (record.removing) {
    jobs_.post([this, entry] { finish_removal(entry); });
    return;
  }
  if (!record.former_target.empty()) jobs_.post([this, entry] { drop_former_target(entry); });
  if (record.takes_over()) {
    if (!record.paused && !entry->is_looked_at.exchange(true)) jobs_.post([this, entry] { take_over(entry); });
  } else if (!record.former.empty()) {
    jobs_.post([this, entry] { replace_rows(entry); });
  }
  if (next && !record.paused && !next->is_looked_at.exchange(true))
    jobs_.post_after(next_interval, [this, entry, next] { look_at_next(entry, next); });
}

std::vector<Projections::EntryPtr> Projections::entries() const {
  const std::lock_guard lock(mutex_);
  return entries_;
}

std::vector<Projections::EntryPtr> Projections::versions() const {
  const std::lock_guard lock(mutex_);
  std::vector<EntryPtr> all = entries_;
  for (const EntryPtr& entry : entries_) {
    if (entry->next) all.push_back(entry->next);
  }
  return all;
}

Projections::EntryPtr Projections::find(std::string_view name) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const EntryPtr& one) { return one->record.name == name; });
  return found == entries_.end() ? nullptr : *found;
}

Expected<RowTarget> Projections::kind_of(const partitioning::Database& target) const {
  OCTAVO_TRY(const auto into, read_form_(target));
  return RowTarget{into->keeps_key_in_body(), target.partitioned()};
}

Expected<std::vector<JoinedDatabase>> Projections::check(
    const ProjectionDefinition& definition, RowTarget target,
    std::span<const std::shared_ptr<partitioning::Database>> joined) const {
  std::vector<JoinedDatabase> inputs;
  for (const auto& one : joined) {
    OCTAVO_TRY(auto form, read_form_(*one));
    inputs.push_back({one, std::move(form)});
  }
  OCTAVO_TRY_VOID(RowProgram::compile(definition, target, inputs));
  OCTAVO_TRY_VOID(definition.check_new());
  if (!definition.transform.empty()) OCTAVO_TRY_VOID(check_function(definition.transform));
  return inputs;
}

Expected<void> Projections::check_new(std::string_view name, const ProjectionDefinition& definition, RowTarget target,
                                      std::span<const std::shared_ptr<partitioning::Database>> joined) {
  if (read_form_ == nullptr) return without_forms();
  OCTAVO_TRY_VOID(load());
  OCTAVO_TRY_VOID(check(definition, target, joined));
  if (find(name)) return is_there();
  return check_number(entries().size());
}

Expected<void> Projections::add(std::string name, ProjectionDefinition definition, partitioning::Database& target,
                                std::span<const std::shared_ptr<partitioning::Database>> joined) {
  if (read_form_ == nullptr) return without_forms();
  OCTAVO_TRY_VOID(load());
  OCTAVO_TRY(const RowTarget into, kind_of(target));
  OCTAVO_TRY(const auto inputs, check(definition, into, joined));
  const std::lock_guard changing(change_mutex_);
  if (find(name)) return is_there();
  if (definition.exclusive) OCTAVO_TRY_VOID(require_empty(target));
  OCTAVO_TRY(auto record, add_projection(database_.engine().catalog(), database_, target, inputs, std::move(name),
                                         std::move(definition)));
  // Before the first row: clients must not change it.
  tell_target(record);
  const EntryPtr entry = open(std::move(record));
  {
    const std::lock_guard lock(mutex_);
    if (stopping_->load()) return fail(ErrorCode::not_found, "Database does not exist.");
    entries_.push_back(entry);
    keeps_open_ = database_.shared_from_this();
  }
  any_.store(true, std::memory_order_release);
  start(entry);
  plan_retry();
  return {};
}

// --- owners ---

void Projections::tell_target(const ProjectionRecord& record) const {
  project::tell_target(database_.engine(), record.definition.target, record.target_tag);
}

void Projections::load_owners() {
  auto owners = owners_of(database_.engine().catalog(), database_.instance_tag());
  if (!owners) {
    spdlog::error("database {}: which projections write into it cannot be read: {}", database_.name(),
                  reason_of(owners.error()));
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
