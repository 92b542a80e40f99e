#include "query/index/index_manager.h"

#include <algorithm>
#include <set>
#include <utility>

#include <spdlog/spdlog.h>

#include "partitioning/partition_key.h"
#include "partitioning/scan.h"
#include "query/index/index_entry.h"

namespace octavo::query {

namespace {

constexpr std::string_view kFolderPrefix = "index-";
constexpr std::string_view kDesignPrefix = "_design/";
constexpr std::string_view kDesignEnd = "_design0";

constexpr std::size_t kFollowRowsMax = 4096;
constexpr std::size_t kFollowBytesMax = 8ULL << 20;
constexpr std::size_t kPurgeDocumentsMax = 8192;
// Commits that come within this time make one batch, unless a query waits.
constexpr std::chrono::milliseconds kFollowDelay{20};
constexpr std::chrono::milliseconds kRetiredDelay{100};
// A backlog this long is worth a line in _active_tasks.
constexpr storage::Sequence kVisibleBacklog = 20'000;

}  // namespace

const IndexView* IndexCatalog::find(std::string_view identity) const {
  const auto found = std::ranges::find(
      indexes, identity, [](const IndexView& view) -> std::string_view { return view.definition->identity; });
  return found == indexes.end() ? nullptr : &*found;
}

IndexManager::IndexManager(partitioning::Database& database, ActiveTasks* tasks)
    : database_(database), tasks_(tasks), opened_at_(database.watermark()), jobs_(database.engine().workers()) {
  // Entries of local indexes are kept from the first write on, whether or not anybody asks for the definitions.
  if (!database.partitioned()) return;
  for (std::size_t i = 0; i < database.physical_partition_count(); ++i) {
    auto& partition = database.physical_partition(i);
    locals_.push_back(std::make_shared<LocalIndexes>(partition, tasks, database.name()));
    partition.set_observer(locals_.back());
  }
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
  changes_.fetch_add(1, std::memory_order_acq_rel);
  // A definition is put to work also when nobody queries.
  jobs_.post([this] {
    if (auto loaded = catalog(); !loaded) {
      spdlog::warn("database {}: cannot read the index definitions: {}", database_.name(), loaded.error().reason);
    }
  });
}

void IndexManager::committed() {
  if (has_globals_.load(std::memory_order_relaxed)) {
    wake(waiters_.load(std::memory_order_relaxed) > 0);
  } else if (changes_loaded_.load(std::memory_order_relaxed) == 0) {
    // First write since the database was opened: an index that a crash left half built goes on now.
    if (!wake_planned_.exchange(true)) {
      jobs_.post([this] {
        wake_planned_.store(false);
        if (auto loaded = catalog(); !loaded) {
          spdlog::warn("database {}: cannot read the index definitions: {}", database_.name(), loaded.error().reason);
        }
      });
    }
  }
  for (const auto& local : locals_) local->resume();
}

void IndexManager::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    shut_down_ = true;
  }
  for (const auto& local : locals_) local->shut_down();
  jobs_.stop();
  builder_.reset();
  follow_task_ = {};
  remove_retired();
  progress_.notify_all();
}

// --- definitions ---

Expected<std::shared_ptr<const IndexCatalog>> IndexManager::catalog() {
  if (changes_loaded_.load(std::memory_order_acquire) != changes_.load(std::memory_order_acquire)) {
    OCTAVO_TRY_VOID(load());
  }
  return catalog_.load(std::memory_order_acquire);
}

Expected<std::vector<IndexDefinitionPtr>> IndexManager::read_definitions() {
  std::vector<IndexDefinitionPtr> definitions;
  partitioning::DocumentRange range;
  range.start = std::string(kDesignPrefix);
  range.end = std::string(kDesignEnd);
  range.end_inclusive = false;
  partitioning::DocumentScan scan(database_, std::move(range));
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more) {
    OCTAVO_TRY(state, scan.run(partitioning::ScanBudget::worker_slice(), [&](const storage::DocumentView& document,
                                                                             const storage::Snapshot&) {
      if (document.deleted) return partitioning::Visit::next;
      // A design document that makes no sense defines nothing.
      auto found = definitions_from_design_document(document.id, document.body, database_.partitioned());
      if (found) std::ranges::move(*found, std::back_inserter(definitions));
      return partitioning::Visit::next;
    }));
  }
  if (definitions.size() > indexes_per_database_max) definitions.resize(indexes_per_database_max);
  return definitions;
}

Expected<void> IndexManager::load() {
  const std::lock_guard loading(load_mutex_);
  const std::uint64_t changes = changes_.load(std::memory_order_acquire);
  if (changes_loaded_.load(std::memory_order_acquire) == changes) return {};
  const auto attempt = [&]() -> Expected<void> {
    OCTAVO_TRY(auto definitions, read_definitions());
    std::vector<IndexDefinitionPtr> local;
    std::set<std::string_view> seen;
    for (const auto& definition : definitions) {
      if (definition->partitioned && seen.insert(definition->identity).second) local.push_back(definition);
    }
    OCTAVO_TRY_VOID(open_globals(definitions));
    {
      const std::lock_guard lock(mutex_);
      published_definitions_ = definitions;
    }
    for (const auto& indexes : locals_) {
      indexes->reconcile(local, [this] {
        publish();
        progress_.notify_all();
      });
    }
    publish();
    if (!loaded_) remove_stray_folders(definitions);
    loaded_ = true;
    remove_retired();
    return {};
  };
  auto result = attempt();
  // Only now: whoever asks meanwhile must wait for this load, not get the catalog before it.
  if (result) changes_loaded_.store(changes, std::memory_order_release);
  wake(true);
  progress_.notify_all();
  return result;
}

Expected<void> IndexManager::open_globals(const std::vector<IndexDefinitionPtr>& definitions) {
  std::vector<std::shared_ptr<GlobalIndex>> old;
  {
    const std::lock_guard lock(mutex_);
    if (shut_down_) return fail(ErrorCode::not_found, "Database does not exist.");
    old = globals_;
    // An index that is wanted again before its last reader left goes on where it was.
    std::ranges::move(retired_, std::back_inserter(old));
    retired_.clear();
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
    auto index = std::make_shared<GlobalIndex>(definition, std::move(options));
    if (auto opened = index->open(opened_at_); !opened) {
      const std::lock_guard lock(mutex_);
      std::erase_if(old,
                    [&](const auto& known) { return in(globals_, known->definition().identity) != globals_.end(); });
      retired_ = std::move(old);
      return opened;
    }
    wanted.push_back(std::move(index));
  }
  const std::lock_guard lock(mutex_);
  std::ranges::copy_if(old, std::back_inserter(retired_),
                       [&](const auto& index) { return in(wanted, index->definition().identity) == wanted.end(); });
  globals_ = std::move(wanted);
  has_globals_.store(!globals_.empty(), std::memory_order_release);
  return {};
}

// At the first load only, when no other index is open.
void IndexManager::remove_stray_folders(const std::vector<IndexDefinitionPtr>& definitions) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(database_.folder(), error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kFolderPrefix)) continue;
    const std::string_view identity = std::string_view(name).substr(kFolderPrefix.size());
    const bool wanted = std::ranges::any_of(definitions, [&](const auto& definition) {
      return !definition->partitioned && definition->identity == identity;
    });
    if (!wanted) std::filesystem::remove_all(entry.path(), error);
  }
}

// Again and again while queries still read one.
void IndexManager::remove_retired() {
  std::vector<std::shared_ptr<GlobalIndex>> unused;
  const std::lock_guard lock(mutex_);
  std::erase_if(retired_, [&](auto& index) {
    // Nobody else can get hold of it any more: it is in no list but this.
    if (index.use_count() > 1) return false;
    unused.push_back(std::move(index));
    return true;
  });
  for (const auto& index : unused) index->remove_files();
  if (!retired_.empty() && !shut_down_) jobs_.post_after(kRetiredDelay, [this] { remove_retired(); });
}

void IndexManager::publish() {
  const std::lock_guard lock(mutex_);
  const auto old = catalog_.load();
  auto next = std::make_shared<IndexCatalog>();
  next->generation = old ? old->generation + 1 : 1;
  std::vector<std::shared_ptr<const LocalIndexes::Indexes>> locals;
  for (const auto& local : locals_) locals.push_back(local->indexes());
  for (const auto& definition : published_definitions_) {
    IndexView view;
    view.definition = definition;
    if (!definition->partitioned) {
      const auto global = std::ranges::find(globals_, definition->identity,
                                            [](const auto& index) { return index->definition().identity; });
      if (global == globals_.end()) continue;
      view.global = *global;
    } else {
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
  std::ranges::sort(next->indexes, {}, [](const IndexView& view) {
    return std::pair<std::string_view, std::string_view>(view.definition->design_document, view.definition->name);
  });
  catalog_.store(std::move(next), std::memory_order_release);
  cache_.clear();
}

// --- following the feed ---

void IndexManager::wake(bool now) {
  if (!has_globals_.load(std::memory_order_acquire)) return;
  if (now) {
    jobs_.post([this] { follow(); });
    return;
  }
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(kFollowDelay, [this] { follow(); });
}

void IndexManager::follow() {
  wake_planned_.store(false, std::memory_order_release);
  follow_again_.store(true);
  if (following_.exchange(true)) return;  // the one who follows will look again
  while (follow_again_.exchange(false)) {
    const auto more = follow_batch();
    if (!more) {
      fail_waiters(more.error());
      follow_task_ = {};
      break;
    }
    progress_.notify_all();
    if (*more) {
      // Others want the worker too: go to the end of its queue.
      following_.store(false);
      jobs_.post([this] { follow(); });
      return;
    }
    follow_task_ = {};
  }
  following_.store(false);
  // Woken between the last look and the line above.
  if (follow_again_.load() && !jobs_.stopping()) jobs_.post([this] { follow(); });
}

void IndexManager::fail_waiters(const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    failure_ = error;
    ++failures_;
  }
  if (!database_.deleted()) {
    spdlog::warn("database {}: updating global indexes waits: {}", database_.name(), error.reason);
  }
  progress_.notify_all();
}

Expected<bool> IndexManager::follow_batch() {
  std::vector<std::shared_ptr<GlobalIndex>> ready;
  {
    const std::lock_guard lock(mutex_);
    const bool unbuilt = std::ranges::any_of(globals_, [](const auto& index) { return !index->ready(); });
    if (unbuilt && !building_ && !shut_down_) {
      building_ = true;
      jobs_.post([this] { build(); });
    }
    for (const auto& index : globals_) {
      if (index->ready()) ready.push_back(index);
    }
  }
  if (ready.empty()) return false;

  // In this order: a purge up to the watermark is then in the count. Nothing beyond the watermark is claimed below, as
  // the scan may see further than the count does.
  const storage::Sequence watermark = database_.watermark();
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  for (const auto& index : ready) {
    if (index->purge_count() == purge_count) continue;
    OCTAVO_TRY(const bool through, catch_up_with_purges(*index, purge_count));
    if (!through) return true;
  }

  storage::Sequence from = watermark;
  for (const auto& index : ready) from = std::min(from, index->checkpoint());
  if (from >= watermark) return false;
  if (tasks_ && !follow_task_ && watermark - from > kVisibleBacklog) {
    ActiveTask task;
    task.type = "indexer";
    task.database = database_.name();
    task.phase = "catch up";
    follow_task_ = tasks_->start(std::move(task));
    follow_task_from_ = from;
  }

  std::vector<std::vector<GlobalIndex::Change>> changes(ready.size());
  std::size_t bytes = 0;
  std::optional<Error> failure;
  partitioning::FeedScan scan(database_, {from, false, std::nullopt});
  const auto state = scan.run({kFollowRowsMax}, [&](const storage::FeedRow& row, const storage::Snapshot& snapshot) {
    if (row.sequence > watermark) return partitioning::Visit::stop;
    if (row.id.starts_with(kDesignPrefix)) return partitioning::Visit::next;
    std::optional<IndexedDocument> document;
    if (!row.deleted) {
      const auto found = snapshot.find(row.id);
      if (!found) {
        failure = found.error();
        return partitioning::Visit::stop;
      }
      if (*found && !(*found)->deleted) {
        if (const auto root = parser_.parse((*found)->body)) {
          document = IndexedDocument{*root, (*found)->body, row.id, (*found)->revision};
        }
      }
    }
    for (std::size_t i = 0; i < ready.size(); ++i) {
      GlobalIndex::Change change{row.sequence, std::string(row.id), false, {}, {}};
      change.present = document && append_index_entry(ready[i]->definition(), *document, change.key, change.value);
      bytes += change.id.size() + change.key.size() + change.value.size();
      changes[i].push_back(std::move(change));
    }
    return bytes < kFollowBytesMax ? partitioning::Visit::next : partitioning::Visit::pause;
  });
  if (!state) return std::unexpected(state.error());
  if (failure) return std::unexpected(*std::move(failure));
  const storage::Sequence reached = std::min(scan.position(), watermark);
  for (std::size_t i = 0; i < ready.size(); ++i) OCTAVO_TRY_VOID(ready[i]->apply(changes[i], reached));
  {
    const std::lock_guard lock(mutex_);
    failure_.reset();
  }
  follow_task_.report(reached - follow_task_from_, watermark - follow_task_from_);
  return reached < database_.watermark();
}

Expected<bool> IndexManager::catch_up_with_purges(GlobalIndex& index, std::uint64_t purge_count) {
  std::vector<std::optional<storage::Snapshot>> snapshots(database_.physical_partition_count());
  return index.remove_purged(purge_count, kPurgeDocumentsMax, [&](std::string_view id) -> Expected<bool> {
    const std::size_t place = database_.locate_document(id);
    if (!snapshots[place]) {
      OCTAVO_TRY(auto snapshot, database_.snapshot(place));
      snapshots[place].emplace(std::move(snapshot));
    }
    OCTAVO_TRY(const auto document, snapshots[place]->find(id));
    return !document || document->deleted;
  });
}

void IndexManager::build() {
  if (!builder_) {
    std::vector<std::shared_ptr<GlobalIndex>> unbuilt;
    {
      const std::lock_guard lock(mutex_);
      std::ranges::copy_if(globals_, std::back_inserter(unbuilt), [](const auto& index) { return !index->ready(); });
      if (unbuilt.empty()) {
        building_ = false;
        return;
      }
    }
    builder_ = std::make_unique<GlobalIndexBuilder>(database_, std::move(unbuilt), tasks_);
  }
  const auto state = builder_->run();
  if (state && *state == GlobalIndexBuilder::State::more) {
    jobs_.post([this] { build(); });
    return;
  }
  builder_.reset();
  {
    const std::lock_guard lock(mutex_);
    building_ = false;
  }
  if (!state) {
    // The next commit or query tries again.
    fail_waiters(state.error());
    return;
  }
  publish();
  progress_.notify_all();
  wake(true);
}

// --- waiting ---

Expected<bool> IndexManager::is_current(const GlobalIndex& index, storage::Sequence sequence) const {
  if (!index.ready() || index.checkpoint() < sequence) return false;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  return index.purge_count() >= purge_count;
}

namespace {
// Counts a query that waits, so that commits wake the follower at once.
class WaiterCount {
 public:
  explicit WaiterCount(std::atomic<int>& count) : count_(count) { count_.fetch_add(1, std::memory_order_relaxed); }
  ~WaiterCount() { count_.fetch_sub(1, std::memory_order_relaxed); }
  WaiterCount(const WaiterCount&) = delete;
  WaiterCount& operator=(const WaiterCount&) = delete;

 private:
  std::atomic<int>& count_;
};
}  // namespace

Task<Expected<void>> IndexManager::wait_until_current(std::shared_ptr<GlobalIndex> index, storage::Sequence sequence,
                                                      std::chrono::steady_clock::time_point deadline) {
  const auto keep_alive = database_.shared_from_this();
  std::optional<WaiterCount> waiting;
  std::uint64_t failures_before = 0;
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    const auto current = is_current(*index, sequence);
    if (!current) co_return std::unexpected(current.error());
    if (*current) co_return Expected<void>{};
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return fail(ErrorCode::not_found, "Database does not exist.");
      if (!waiting) {
        failures_before = failures_;
      } else if (failures_ > failures_before && failure_) {
        co_return std::unexpected(*failure_);
      }
    }
    if (!waiting) {
      waiting.emplace(waiters_);
      wake(true);
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) {
      co_return fail(ErrorCode::timeout,
                     "The index is still being updated; try again later, or with \"update\": false.");
    }
  }
}

Task<Expected<std::shared_ptr<const IndexCatalog>>> IndexManager::wait_until_ready(
    std::string identity, std::size_t place, std::chrono::steady_clock::time_point deadline) {
  using Result = Expected<std::shared_ptr<const IndexCatalog>>;
  const auto keep_alive = database_.shared_from_this();
  wake(true);
  for (const auto& local : locals_) local->resume();
  while (true) {
    const std::uint64_t epoch = progress_.epoch();
    auto now = catalog();
    if (!now) co_return Result(std::unexpected(now.error()));
    const IndexView* view = (*now)->find(identity);
    if (!view || view->ready(place)) co_return Result(std::move(*now));
    {
      const std::lock_guard lock(mutex_);
      if (shut_down_) co_return Result(fail(ErrorCode::not_found, "Database does not exist."));
    }
    const bool notified = co_await progress_.wait(epoch, deadline);
    if (!notified) co_return Result(std::move(*now));
  }
}

}  // namespace octavo::query
