#include "query/database/index_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/memory_retry.h"
#include "partitioning/scan.h"
#include "query/database/database_properties.h"
#include "query/database/feed_index_kinds.h"
#include "query/design/design_scan.h"
#include "query/index/local/unique_keys.h"

namespace octavo::query {

namespace {

constexpr std::string_view kFolderPrefix = "index-";

constexpr std::chrono::milliseconds kRetiredDelay{100};
// An index whose files cannot be created (usually because the disk is full) is retried after this.
constexpr std::chrono::milliseconds kOpenRetryDelay{2000};
constexpr std::chrono::milliseconds kPublishRetryDelay{10};
// Queries that use the automatic index of the former policy may continue for this long.
constexpr std::chrono::milliseconds kSupersededDelay{2000};

void apply_throughput(partitioning::Database& database, const DatabaseProperties& properties) {
  auto& engine = database.engine();
  if (!engine.settings().enforce_throughput) return;
  auto& consumption = database.consumption();
  if (properties.shares_throughput) {
    const std::string owner = database.name().substr(0, database.name().find('/'));
    const auto stored = engine.catalog().fact("cosmos_databases", owner);
    const std::uint32_t rate = stored && *stored ? shared_throughput_of(**stored) : 0;
    if (rate != 0) consumption.set_budget(engine.shared_budget(owner, rate));
    return;
  }
  auto own = consumption.budget();
  if (own == nullptr && properties.throughput == 0) return;
  const std::size_t count = database.physical_partition_count();
  if (own == nullptr || own->shares() != count) own = std::make_shared<partitioning::ThroughputBudget>(count);
  own->set_rate(properties.throughput);
  consumption.set_budget(std::move(own));
}

// If the throughput exceeds what the physical partitions can have, there must be more of them.
void grow_for_throughput(partitioning::Database& database, const DatabaseProperties& properties) {
  if (!database.engine().settings().enforce_throughput || properties.shares_throughput) return;
  using partitioning::partition_throughput_max;
  const std::uint32_t needed = properties.throughput / partition_throughput_max +
                               (properties.throughput % partition_throughput_max == 0 ? 0 : 1);
  const std::size_t wanted = std::min(needed, database.engine().settings().q_max);
  if (wanted <= database.physical_partition_count()) return;
  if (const auto held = database.weak_from_this().lock()) database.engine().splits().grow(held, wanted);
}

}  // namespace

const IndexView* IndexCatalog::find(std::string_view identity) const {
  const auto found = std::ranges::find(
      indexes, identity, [](const IndexView& view) -> std::string_view { return view.definition->identity; });
  return found == indexes.end() ? nullptr : &*found;
}

IndexManager::IndexManager(partitioning::Database& database, ActiveTasks* tasks)
    : database_(database),
      design_functions_(database),
      tasks_(tasks),
      opened_at_(database.watermark()),
      feed_indexes_(database, tasks, feed_index_kinds()),
      jobs_(database.engine().workers()) {
  set_locals({});
  apply_properties();
  // Entries of local indexes are maintained from the first write on, even if the definitions are never read.
  if (!database.partitioned() && !database.auto_index()) return;
  const auto unique_keys = unique_keys_of(database.definition()->text);
  Locals locals(database.partition_map().partition_id_end());
  for (const std::size_t partition_id : database.partition_ids()) {
    auto& partition = database.physical_partition(partition_id);
    locals[partition_id] = std::make_shared<LocalIndexes>(partition, tasks, database.name(), database.partitioned());
    partition.set_observer(locals[partition_id]);
    partition.set_unique_keys(unique_keys);
  }
  set_locals(std::move(locals));
  // A new database must index its first documents at once.
  if (opened_at_ == 0 && read_automatic()) jobs_.post([this] { load_in_background(); });
}

IndexManager::~IndexManager() {
  shut_down();
}

partitioning::ExtensionFactory IndexManager::factory(ActiveTasks* tasks) {
  return [tasks](partitioning::Database& database) -> std::unique_ptr<partitioning::DatabaseExtension> {
    return std::make_unique<IndexManager>(database, tasks);
  };
}

IndexManager* IndexManager::of(partitioning::Database& database) {
  return dynamic_cast<IndexManager*>(database.extension());
}

void IndexManager::design_documents_changed() {
  design_functions_.design_documents_changed();
  feed_indexes_.design_documents_changed();
  changes_.fetch_add(1, std::memory_order_acq_rel);
  // A definition takes effect even without queries.
  jobs_.post([this] { load_in_background(); });
}

void IndexManager::committed() {
  feed_indexes_.committed();
  if (has_globals_.load(std::memory_order_relaxed)) {
    wake(waiters_.load(std::memory_order_relaxed) > 0);
  } else if (changes_loaded_.load(std::memory_order_relaxed) == 0) {
    // First write since the database was opened: an index that a crash left half built continues now.
    if (!wake_planned_.exchange(true)) {
      jobs_.post([this] {
        wake_planned_.store(false);
        load_in_background();
      });
    }
  }
  for (const auto& local : locals()) {
    if (local) local->resume();
  }
}

void IndexManager::definition_changed() {
  apply_properties();
  // The indexing policy may have changed.
  changes_.fetch_add(1, std::memory_order_acq_rel);
  jobs_.post([this] { load_in_background(); });
}

void IndexManager::load_in_background() {
  const auto loaded = run_guarded("reading index definitions", [this] { return catalog(); });
  if (loaded) return;
  spdlog::warn("database {}: cannot read the index definitions: {}", database_.name(), loaded.error().reason);
  if (may_pass(loaded.error())) jobs_.post_after(kOpenRetryDelay, [this] { load_in_background(); });
}

void IndexManager::apply_properties() {
  const std::lock_guard lock(mutex_);
  // Read under the mutex, so that the last thread to apply properties has the newest.
  const auto properties = DatabaseProperties::of(database_.definition()->text);
  if (shut_down_) return;
  if (properties.ttl_s && !expiration_) expiration_ = std::make_unique<Expiration>(database_);
  if (expiration_) expiration_->set_default(properties.ttl_s);
  if (properties.all_versions_s > 0 && !retention_) retention_ = std::make_unique<VersionRetention>(database_);
  if (retention_) retention_->set_seconds(properties.all_versions_s);
  apply_throughput(database_, properties);
  grow_for_throughput(database_, properties);
}

void IndexManager::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  if (expiration_) expiration_->stop();
  if (retention_) retention_->stop();
  feed_indexes_.shut_down();
  for (const auto& local : locals()) {
    if (local) local->shut_down();
  }
  jobs_.stop();
  builder_.reset();
  follow_task_ = {};
  until_memory_suffices([this] { remove_retired(); });
  progress_.notify_all();
}

std::size_t IndexManager::open_environment_count() const {
  const std::lock_guard lock(mutex_);
  const auto is_open = [](const auto& index) { return index->environment().is_open(); };
  return static_cast<std::size_t>(std::ranges::count_if(globals_, is_open) + std::ranges::count_if(retired_, is_open)) +
         feed_indexes_.open_environment_count();
}

std::uint64_t IndexManager::last_used_ms() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t newest = feed_indexes_.last_used_ms();
  for (const auto& index : globals_) newest = std::max(newest, index->environment().last_used_ms());
  return newest;
}

std::size_t IndexManager::close_idle(std::uint64_t last_used_before_ms) {
  const std::lock_guard lock(mutex_);
  std::size_t closed = feed_indexes_.close_idle(last_used_before_ms);
  for (const auto& index : globals_) {
    auto& environment = index->environment();
    if (!environment.is_open() || environment.last_used_ms() > last_used_before_ms) continue;
    if (environment.close_if_idle()) ++closed;
  }
  return closed;
}

// --- definitions ---

Expected<std::shared_ptr<const IndexCatalog>> IndexManager::catalog() {
  if (changes_loaded_.load(std::memory_order_acquire) != changes_.load(std::memory_order_acquire)) {
    OCTAVO_TRY_VOID(load());
  }
  return catalog_.load();
}

Expected<std::vector<IndexDefinitionPtr>> IndexManager::read_definitions() {
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

IndexDefinitionPtr IndexManager::read_automatic() const {
  auto automatic = database_.auto_index() ? AutomaticIndex::of_everything(StringOrder::icu)
                                          : automatic_index_of(database_.definition()->text);
  return automatic ? automatic_definition(std::move(automatic)) : nullptr;
}

void IndexManager::reconcile(LocalIndexes& indexes, std::vector<IndexDefinitionPtr> wanted) {
  indexes.reconcile(std::move(wanted), [this] { publish_or_retry(); });
}

Expected<void> IndexManager::load() {
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
    OCTAVO_TRY(failure, open_globals(definitions));
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
    if (!loaded_) remove_stray_folders(definitions);
    loaded_ = true;
    remove_retired();
    return {};
  };
  auto result = attempt();
  // Set only now: concurrent callers must wait for this load instead of getting the former catalog.
  if (result) changes_loaded_.store(changes, std::memory_order_release);
  if (failure) {
    // Queries continue without that index.
    spdlog::warn("database {}: an index cannot be opened, will try again: {}", database_.name(), failure->reason);
    jobs_.post_after(kOpenRetryDelay, [this] { design_documents_changed(); });
  }
  wake(true);
  progress_.notify_all();
  return result;
}

// Opens the wanted indexes and retires the rest. An index that cannot be opened is left out, and its error returned.
Expected<std::optional<Error>> IndexManager::open_globals(const std::vector<IndexDefinitionPtr>& definitions) {
  std::optional<Error> failure;
  std::vector<std::shared_ptr<GlobalIndex>> old;
  {
    const std::lock_guard lock(mutex_);
    if (shut_down_) return fail(ErrorCode::not_found, "Database does not exist.");
    old = globals_;
    // An index that is wanted again before its last reader left continues where it was. While `old` holds it, its files
    // are kept.
    old.insert(old.end(), retired_.begin(), retired_.end());
  }
  std::vector<std::shared_ptr<GlobalIndex>> wanted;
  const auto in = [](const auto& indexes, std::string_view identity) {
    return std::ranges::find(indexes, identity,
                             [](const auto& index) -> std::string_view { return index->definition().identity; });
  };
  for (const auto& definition : definitions) {
    if (definition->partitioned || in(wanted, definition->identity) != wanted.end()) continue;
    if (const auto known = in(old, definition->identity); known != old.end()) {
      wanted.push_back(*known);
      continue;
    }
    GlobalIndex::Options options;
    options.folder = database_.folder() / (std::string(kFolderPrefix) + definition->identity);
    options.durability = database_.engine().settings().durability;
    options.faults = database_.engine().faults();
    auto index = std::make_shared<GlobalIndex>(definition, std::move(options));
    if (auto opened = index->open(opened_at_); !opened) {
      failure = std::move(opened).error();
      continue;
    }
    wanted.push_back(std::move(index));
  }
  std::vector<std::shared_ptr<GlobalIndex>> retired;
  std::ranges::copy_if(old, std::back_inserter(retired),
                       [&](const auto& index) { return in(wanted, index->definition().identity) == wanted.end(); });
  const std::lock_guard lock(mutex_);
  globals_ = std::move(wanted);
  retired_ = std::move(retired);
  has_globals_.store(!globals_.empty(), std::memory_order_release);
  return failure;
}

// Called at the first load only, when no other index is open.
void IndexManager::remove_stray_folders(const std::vector<IndexDefinitionPtr>& definitions) {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(database_.folder(), error)) {
    if (!name.starts_with(kFolderPrefix)) continue;
    const std::string_view identity = std::string_view(name).substr(kFolderPrefix.size());
    const bool wanted = std::ranges::any_of(definitions, [&](const auto& definition) {
      return !definition->partitioned && definition->identity == identity;
    });
    if (!wanted) storage::remove_folder(database_.folder() / name, error);
  }
}

// Repeats while queries still read one.
void IndexManager::remove_retired() {
  std::vector<std::shared_ptr<GlobalIndex>> unused;
  const std::lock_guard lock(mutex_);
  unused.reserve(retired_.size());
  std::erase_if(retired_, [&](auto& index) {
    // No new reader is possible, as only this list has it.
    if (index.use_count() > 1) return false;
    unused.push_back(std::move(index));
    return true;
  });
  for (const auto& index : unused) index->remove_files();
  if (retired_.empty() || shut_down_) return;
  jobs_.post_after(kRetiredDelay, [this] { until_memory_suffices([this] { remove_retired(); }); });
}

// The index of the policy or, while that is being built, the former one: each serves queries of the paths that it
// contains. Call with mutex_ held.
std::optional<IndexView> IndexManager::find_automatic(
    const std::vector<std::shared_ptr<const LocalIndexes::Indexes>>& locals) const {
  const std::vector<std::size_t>& partition_ids = database_.partition_ids();
  if (!automatic_ || partition_ids.front() >= locals.size() || !locals[partition_ids.front()]) return std::nullopt;
  std::optional<IndexView> best;
  for (const auto& candidate : *locals[partition_ids.front()]) {
    if (!candidate.definition->automatic) continue;
    const std::string& identity = candidate.definition->identity;
    IndexView view{candidate.definition, nullptr, std::vector<std::uint32_t>(locals.size()),
                   std::vector<bool>(locals.size()), partition_ids};
    for (std::size_t partition_id = 0; partition_id < locals.size(); ++partition_id) {
      if (!locals[partition_id]) continue;
      for (const auto& index : *locals[partition_id]) {
        if (index.stage != LocalIndexes::Stage::ready || index.definition->identity != identity) continue;
        view.numbers[partition_id] = index.number;
        view.local_ready[partition_id] = true;
      }
    }
    if (!view.is_built()) continue;
    if (!best || identity == automatic_->identity) best = std::move(view);
  }
  return best;
}

std::uint32_t IndexManager::automatic_progress_percent() {
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
void IndexManager::publish_or_retry() {
  try {
    publish();
  } catch (const std::bad_alloc&) {
    jobs_.post_after(kPublishRetryDelay, [this] { publish_or_retry(); });
    return;
  }
  progress_.notify_all();
}

void IndexManager::publish() {
  const std::lock_guard lock(mutex_);
  const auto old = catalog_.load();
  auto next = std::make_shared<IndexCatalog>();
  next->generation = old ? old->generation + 1 : 1;
  std::vector<std::shared_ptr<const LocalIndexes::Indexes>> locals;
  for (const auto& local : this->locals()) locals.push_back(local ? local->indexes() : nullptr);
  for (const auto& definition : published_definitions_) {
    IndexView view;
    view.definition = definition;
    if (!definition->partitioned) {
      const auto global = std::ranges::find(globals_, definition->identity,
                                            [](const auto& index) { return index->definition().identity; });
      if (global == globals_.end()) continue;
      view.global = *global;
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
  const auto is_superseded = [&](const LocalIndexes::Index& index) {
    return index.definition->automatic && index.stage == LocalIndexes::Stage::ready &&
           index.definition->identity != automatic_->identity;
  };
  if (next->automatic && next->automatic->definition->identity == automatic_->identity && !shut_down_ &&
      std::ranges::any_of(database_.partition_ids(), [&](std::size_t partition_id) {
        return locals.at(partition_id) && std::ranges::any_of(*locals[partition_id], is_superseded);
      })) {
    jobs_.post_after(kSupersededDelay, [this] { definition_changed(); });
  }
  std::ranges::sort(next->indexes, {}, [](const IndexView& view) {
    return std::pair<std::string_view, std::string_view>(view.definition->design_document, view.definition->name);
  });
  catalog_.store(std::move(next));
  cache_.clear();
}

}  // namespace octavo::query
