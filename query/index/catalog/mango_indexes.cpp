#include "query/index/catalog/mango_indexes.h"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/jobs/run_guarded.h"
#include "partitioning/engine.h"
#include "query/design/design_scan.h"
#include "query/index/automatic_index.h"

namespace octavo::query {

namespace {

// An index whose files cannot be created (usually because the disk is full) is retried after this.
constexpr std::chrono::milliseconds open_retry_delay{2000};
constexpr std::chrono::milliseconds publish_retry_delay{10};
// Queries that use the automatic index of the former policy may continue for this long.
constexpr std::chrono::milliseconds superseded_delay{2000};

}  // namespace

MangoIndexes::MangoIndexes(partitioning::Database& database, ActiveTasks* tasks, IndexPolicy policy)
    : database_(database),
      tasks_(tasks),
      policy_(std::move(policy)),
      globals_(database, tasks, progress_, [this] { publish_or_retry(); }),
      jobs_(database.engine().workers().pool()) {
  set_locals({});
  // Entries of local indexes are maintained from the first write on, even if the definitions are never read.
  if (!database.partitioned() && !database.auto_index()) return;
  Locals locals(database.partition_map().partition_id_end());
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    locals[partition_id] = std::make_shared<LocalIndexes>(partition, tasks, database.name(), database.partitioned());
    partition.set_observer(locals[partition_id]);
    partition.set_unique_keys(policy_.unique_keys);
  }
  set_locals(std::move(locals));
  // A new database must index its first documents at once.
  if (database.watermark() == 0 && read_automatic()) jobs_.post([this] { load_in_background(); });
}

MangoIndexes::~MangoIndexes() {
  shut_down();
}

void MangoIndexes::set_policy(IndexPolicy policy) {
  const std::lock_guard lock(mutex_);
  policy_ = std::move(policy);
}

IndexPolicy MangoIndexes::policy() const {
  const std::lock_guard lock(mutex_);
  return policy_;
}

void MangoIndexes::definitions_changed() {
  changes_.fetch_add(1, std::memory_order_acq_rel);
  // A definition takes effect even without queries.
  jobs_.post([this] { load_in_background(); });
}

void MangoIndexes::committed() {
  if (globals_.any()) {
    globals_.committed();
  } else if (changes_loaded_.load(std::memory_order_relaxed) == 0) {
    // First write since the database was opened: an index that a crash left half built continues now.
    if (!load_planned_.exchange(true)) {
      jobs_.post([this] {
        load_planned_.store(false);
        load_in_background();
      });
    }
  }
  for (const auto& local : locals()) {
    if (local) local->resume();
  }
}

void MangoIndexes::load_in_background() {
  const auto loaded = run_guarded("reading index definitions", [this] { return catalog(); });
  if (loaded) return;
  spdlog::warn("database {}: cannot read the index definitions: {}", database_.name(), reason_of(loaded.error()));
  if (may_pass(loaded.error())) jobs_.post_after(open_retry_delay, [this] { load_in_background(); });
}

void MangoIndexes::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  for (const auto& local : locals()) {
    if (local) local->shut_down();
  }
  jobs_.stop();
  globals_.shut_down();
  progress_.notify_all();
}

// --- definitions ---

Expected<std::shared_ptr<const IndexCatalog>> MangoIndexes::catalog() {
  if (changes_loaded_.load(std::memory_order_acquire) != changes_.load(std::memory_order_acquire)) {
    OCTAVO_TRY_VOID(load());
  }
  return catalog_.load();
}

Expected<std::vector<IndexDefinitionPtr>> MangoIndexes::read_definitions() {
  std::vector<IndexDefinitionPtr> definitions;
  OCTAVO_TRY_VOID(for_each_design_document(database_, [&](const storage::DocumentView& document) {
    // An invalid design document defines nothing.
    auto found = definitions_from_design_document(document.id, document.body, database_.partitioned());
    if (found) std::ranges::move(*found, std::back_inserter(definitions));
  }));
  if (definitions.size() > indexes_per_database_max) {  // by replication, or by two concurrent writes
    spdlog::warn("database {}: of {} JSON indexes only the first {}, by the ids of their design documents, are made",
                 database_.name(), definitions.size(), indexes_per_database_max);
    definitions.resize(indexes_per_database_max);
  }
  return definitions;
}

IndexDefinitionPtr MangoIndexes::read_automatic() const {
  auto automatic = database_.auto_index() ? AutomaticIndex::of_everything(StringOrder::icu) : policy().automatic;
  return automatic ? automatic_definition(std::move(automatic)) : nullptr;
}

void MangoIndexes::reconcile(LocalIndexes& indexes, std::vector<IndexDefinitionPtr> wanted) {
  indexes.reconcile(std::move(wanted), [this] { publish_or_retry(); });
}

Expected<void> MangoIndexes::load() {
  const std::lock_guard loading(load_mutex_);
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (changes_loaded_.load(std::memory_order_acquire) == changes) return {};
  std::optional<Error> failure;
  const auto attempt = [&]() -> Expected<void> {
    OCTAVO_TRY(auto definitions, read_definitions());
    std::vector<IndexDefinitionPtr> local;
    std::set<std::string_view> seen;
    for (const auto& definition : definitions) {
      if (definition->partitioned && seen.insert(definition->identity).second) local.push_back(definition);
    }
    auto automatic = read_automatic();
    if (automatic) local.push_back(automatic);
    OCTAVO_TRY(const auto absences, read_absences(automatic.get()));
    local.insert(local.end(), absences.begin(), absences.end());
    OCTAVO_TRY(failure, globals_.reconcile(definitions));
    {
      const std::lock_guard lock(mutex_);
      published_definitions_ = definitions;
      automatic_ = std::move(automatic);
    }
    wanted_locals_ = local;
    for (const auto& indexes : locals()) {
      if (indexes) reconcile(*indexes, local);
    }
    publish();
    if (!loaded_) globals_.remove_stray_folders(definitions);
    loaded_ = true;
    globals_.remove_retired();
    return {};
  };
  auto result = attempt();
  // Set only now: concurrent callers must wait for this load instead of getting the former catalog.
  if (result) changes_loaded_.store(changes, std::memory_order_release);
  if (failure) {
    // Queries continue without that index.
    spdlog::warn("database {}: an index cannot be opened, will try again: {}", database_.name(), reason_of(*failure));
    jobs_.post_after(open_retry_delay, [this] { definitions_changed(); });
  }
  globals_.wake();
  progress_.notify_all();
  return result;
}

Expected<void> MangoIndexes::clean_up() {
  OCTAVO_TRY_VOID(catalog());
  const std::lock_guard loading(load_mutex_);
  std::vector<IndexDefinitionPtr> definitions;
  {
    const std::lock_guard lock(mutex_);
    definitions = published_definitions_;
  }
  globals_.remove_retired();
  globals_.remove_stray_folders(definitions);
  return {};
}

// An index with its numbers in the physical partitions where it is ready. Call with mutex_ held.
IndexView MangoIndexes::ready_view(const IndexDefinitionPtr& definition, const LocalSets& locals) const {
  IndexView view{definition, nullptr, std::vector<std::uint32_t>(locals.size()), std::vector<bool>(locals.size()),
                 database_.partition_ids()};
  for (std::size_t partition_id = 0; partition_id < locals.size(); ++partition_id) {
    if (!locals[partition_id]) continue;
    for (const auto& index : *locals[partition_id]) {
      if (index.stage != LocalIndexes::Stage::ready || index.definition->identity != definition->identity) continue;
      view.numbers[partition_id] = index.number;
      view.local_ready[partition_id] = true;
    }
  }
  return view;
}

// The index of the policy or, while that is being built, the former one: each serves queries of the paths that it
// contains. Call with mutex_ held.
std::optional<IndexView> MangoIndexes::find_automatic(const LocalSets& locals) const {
  const std::vector<std::size_t>& partition_ids = database_.partition_ids();
  if (!automatic_ || partition_ids.front() >= locals.size() || !locals[partition_ids.front()]) return std::nullopt;
  std::optional<IndexView> best;
  for (const auto& candidate : *locals[partition_ids.front()]) {
    if (!is_of_policy(*candidate.definition)) continue;
    IndexView view = ready_view(candidate.definition, locals);
    if (!view.is_built()) continue;
    if (!best || candidate.definition->identity == automatic_->identity) best = std::move(view);
  }
  return best;
}

std::uint32_t MangoIndexes::automatic_progress_percent() {
  if (!catalog()) return 0;
  const std::lock_guard lock(mutex_);
  if (!automatic_) return 100;
  std::uint32_t least = 100;
  for (const std::size_t partition_id : database_.partition_ids()) {
    const auto& local = locals().at(partition_id);
    least = std::min(least, local->automatic_progress_percent(automatic_->identity));
  }
  return least;
}

// For callers that cannot fail or wait for the memory of a whole catalog: nothing else would publish their changes.
void MangoIndexes::publish_or_retry() {
  try {
    publish();
  } catch (const std::bad_alloc&) {
    jobs_.post_after(publish_retry_delay, [this] { publish_or_retry(); });
    return;
  }
  progress_.notify_all();
}

void MangoIndexes::publish() {
  const std::lock_guard lock(mutex_);
  const auto old = catalog_.load();
  auto next = std::make_shared<IndexCatalog>();
  next->generation = old ? old->generation + 1 : 1;
  LocalSets locals;
  for (const auto& local : this->locals()) locals.push_back(local ? local->indexes() : nullptr);
  for (const auto& definition : published_definitions_) {
    IndexView view;
    view.definition = definition;
    if (!definition->partitioned) {
      view.global = globals_.find(definition->identity);
      if (!view.global) continue;
    } else {
      view.partition_ids = database_.partition_ids();
      for (const auto& indexes : locals) {
        view.numbers.push_back(0);
        view.local_ready.push_back(false);
        if (!indexes) continue;
        for (const auto& index : *indexes) {
          if (index.definition->identity != definition->identity) continue;
          if (index.stage == LocalIndexes::Stage::dropping) continue;
          view.numbers.back() = index.number;
          view.local_ready.back() = index.stage == LocalIndexes::Stage::ready;
        }
      }
    }
    next->indexes.push_back(std::move(view));
  }
  next->automatic = find_automatic(locals);
  for (const Absence& absence : absences_) {
    IndexView view = ready_view(absence.definition, locals);
    if (view.is_built()) next->absences.push_back(std::move(view));
  }
  const auto is_superseded = [&](const LocalIndexes::Index& index) {
    return is_of_policy(*index.definition) && index.stage == LocalIndexes::Stage::ready &&
           index.definition->identity != automatic_->identity;
  };
  if (next->automatic && next->automatic->definition->identity == automatic_->identity && !shut_down_ &&
      std::ranges::any_of(database_.partition_ids(), [&](std::size_t partition_id) {
        return locals.at(partition_id) && std::ranges::any_of(*locals[partition_id], is_superseded);
      })) {
    jobs_.post_after(superseded_delay, [this] { definitions_changed(); });
  }
  std::ranges::sort(next->indexes, {}, [](const IndexView& view) {
    return std::pair<std::string_view, std::string_view>(view.definition->design_document, view.definition->name);
  });
  catalog_.store(std::move(next));
  cache_.clear();
}

// --- absence indexes ---

// Those that queries have asked for, in this run or, as the physical partitions know, before. Leaves out those of paths
// that the policy does not include.
Expected<std::vector<IndexDefinitionPtr>> MangoIndexes::read_absences(const IndexDefinition* automatic) {
  std::vector<IndexDefinitionPtr> stored;
  for (const auto& indexes : locals()) {
    if (loaded_ || !indexes) continue;
    OCTAVO_TRY(auto found, indexes->stored_absences());
    std::ranges::move(found, std::back_inserter(stored));
  }
  const std::lock_guard lock(mutex_);
  for (IndexDefinitionPtr& definition : stored) {
    const bool is_known = std::ranges::any_of(
        absences_, [&](const Absence& absence) { return absence.definition->identity == definition->identity; });
    if (!is_known) absences_.push_back({std::move(definition)});
  }
  std::erase_if(absences_, [&](const Absence& absence) {
    return automatic == nullptr || !automatic->automatic->covers(*absence.definition->automatic->absent_path());
  });
  std::vector<IndexDefinitionPtr> wanted;
  for (const Absence& absence : absences_) wanted.push_back(absence.definition);
  return wanted;
}

bool MangoIndexes::want_absence(const FieldPath& path) {
  {
    const std::lock_guard lock(mutex_);
    const auto known = std::ranges::find_if(
        absences_, [&](const Absence& absence) { return absence.definition->automatic->absent_path() == path; });
    if (known != absences_.end()) return !known->waited_in_vain;
    const bool is_possible = !shut_down_ && automatic_ && automatic_->automatic->order() == StringOrder::bytes &&
                             automatic_->automatic->covers(path) && absences_.size() < absences_max;
    if (!is_possible) return false;
    absences_.push_back({automatic_definition(AutomaticIndex::of_absence(path))});
  }
  definitions_changed();
  return true;
}

bool MangoIndexes::is_making_absence(const FieldPath& path) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      absences_, [&](const Absence& absence) { return absence.definition->automatic->absent_path() == path; });
}

Task<Expected<std::shared_ptr<const IndexCatalog>>> MangoIndexes::wait_for_absence(
    FieldPath path, std::chrono::steady_clock::time_point deadline) {
  using Result = Expected<std::shared_ptr<const IndexCatalog>>;
  const auto keep_alive = database_.shared_from_this();
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    OCTAVO_CO_TRY(auto now, catalog());
    if (now->absence_of(path)) co_return Result(std::move(now));
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return Result(std::move(now));
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (notified) continue;
    // Queries do not wait for a disk that is full.
    const std::lock_guard lock(mutex_);
    for (Absence& absence : absences_) {
      if (absence.definition->automatic->absent_path() == path) absence.waited_in_vain = true;
    }
    co_return Result(std::move(now));
  }
}

// --- waiting ---

Task<Expected<std::shared_ptr<const IndexCatalog>>> MangoIndexes::wait_until_ready(
    std::string identity, std::size_t partition_id, std::chrono::steady_clock::time_point deadline) {
  using Result = Expected<std::shared_ptr<const IndexCatalog>>;
  const auto keep_alive = database_.shared_from_this();
  const std::uint64_t attempts_before = globals_.build_attempts();
  globals_.wake();
  for (const auto& local : locals()) {
    if (local) local->resume();
  }
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    auto now = catalog();
    if (!now) co_return Result(std::unexpected(now.error()));
    const IndexView* view = (*now)->find(identity);
    // Nothing is built any more in a partition that was split.
    const bool was_split = view && view->is_local() && !database_.is_current(partition_id);
    if (!view || view->ready(partition_id) || was_split) co_return Result(std::move(*now));
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return Result(fail(ErrorCode::not_found, "Database does not exist."));
    }
    if (view->global) {
      if (auto failure = globals_.build_failure_after(attempts_before)) {
        co_return Result(std::unexpected(*std::move(failure)));
      }
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) co_return Result(std::move(*now));
  }
}

}  // namespace octavo::query
