#include "query/index/global/global_indexes.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "partitioning/engine.h"
#include "query/index/index_entry.h"

namespace octavo::query {

namespace {

constexpr std::string_view folder_prefix = "index-";
constexpr std::string_view draft_suffix = ".new";
constexpr std::size_t follow_rows_max = 4096;
// The entries of all indexes together, in one batch.
constexpr std::size_t follow_bytes_max = 8ULL << 20;
// Commits within this time make one batch, unless a query waits.
constexpr std::chrono::milliseconds follow_delay{20};
// A backlog this long is shown in _active_tasks.
constexpr storage::Sequence visible_backlog = 20'000;
// A failed build (usually because the disk is full) starts over, so retries become less and less frequent.
constexpr std::chrono::milliseconds build_retry_delay_min{100};
constexpr std::chrono::milliseconds build_retry_delay_max{10'000};
constexpr std::chrono::milliseconds retired_delay{100};

FeedFollower::Options follower_options() {
  FeedFollower::Options options;
  options.subject = "updating global indexes";
  options.task.type = "indexer";
  options.task.phase = "catch up";
  options.backlog_listed = visible_backlog;
  options.rows_first = options.rows_max = follow_rows_max;
  options.not_waiting = "\"update\": false";
  return options;
}

auto find_index(const std::vector<std::shared_ptr<GlobalIndex>>& indexes, std::string_view identity) {
  return std::ranges::find(indexes, identity,
                           [](const auto& index) -> std::string_view { return index->definition().identity; });
}

}  // namespace

GlobalIndexes::GlobalIndexes(partitioning::Database& database, ActiveTasks* tasks,
                             partitioning::ChangeNotifier& progress, std::function<void()> built)
    : database_(database),
      tasks_(tasks),
      built_(std::move(built)),
      opened_at_(database.watermark()),
      context_{database, tasks, jobs_, progress, nullptr},
      follower_(std::make_shared<FeedFollower>(context_, static_cast<FeedConsumer&>(*this), follower_options())),
      jobs_(database.engine().workers().pool()) {}

// --- which there are ---

Expected<std::optional<Error>> GlobalIndexes::reconcile(const std::vector<IndexDefinitionPtr>& definitions) {
  std::optional<Error> failure;
  Indexes old;
  {
    const std::lock_guard lock(mutex_);
    if (context_.shut_down) return fail(ErrorCode::not_found, "Database does not exist.");
    old = indexes_;
    // An index that is wanted again before its last reader left continues where it was. While `old` holds it, its files
    // are kept.
    old.insert(old.end(), retired_.begin(), retired_.end());
  }
  Indexes wanted;
  for (const auto& definition : definitions) {
    if (definition->partitioned || find_index(wanted, definition->identity) != wanted.end()) continue;
    if (const auto known = find_index(old, definition->identity); known != old.end()) {
      wanted.push_back(*known);
      continue;
    }
    GlobalIndex::Options options;
    options.folder = database_.folder() / (std::string(folder_prefix) + definition->identity);
    options.durability = database_.engine().settings().durability;
    options.faults = database_.engine().faults();
    auto index = std::make_shared<GlobalIndex>(definition, std::move(options));
    if (auto opened = index->open(opened_at_); !opened) {
      failure = std::move(opened).error();
      continue;
    }
    wanted.push_back(std::move(index));
  }
  Indexes retired;
  std::ranges::copy_if(old, std::back_inserter(retired), [&](const auto& index) {
    return find_index(wanted, index->definition().identity) == wanted.end();
  });
  const std::lock_guard lock(mutex_);
  indexes_ = std::move(wanted);
  retired_ = std::move(retired);
  any_.store(!indexes_.empty(), std::memory_order_release);
  return failure;
}

void GlobalIndexes::remove_stray_folders(const std::vector<IndexDefinitionPtr>& definitions) {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(database_.folder(), error)) {
    if (!name.starts_with(folder_prefix)) continue;
    std::string_view identity = std::string_view(name).substr(folder_prefix.size());
    // A build begins in a folder of this name (Store::create_whole).
    if (identity.ends_with(draft_suffix)) identity.remove_suffix(draft_suffix.size());
    const bool wanted = std::ranges::any_of(definitions, [&](const auto& definition) {
      return !definition->partitioned && definition->identity == identity;
    });
    if (wanted) continue;
    const std::lock_guard lock(mutex_);
    // Queries may still read a retired index.
    if (find_index(retired_, identity) != retired_.end()) continue;
    std::error_code ignored;
    storage::remove_folder(database_.folder() / name, ignored);
  }
}

// Repeats while queries still read one.
void GlobalIndexes::remove_retired() {
  Indexes unused;
  const std::lock_guard lock(mutex_);
  unused.reserve(retired_.size());
  std::erase_if(retired_, [&](auto& index) {
    // No new reader is possible, as only this list has it.
    if (index.use_count() > 1) return false;
    unused.push_back(std::move(index));
    return true;
  });
  for (const auto& index : unused) index->remove_files();
  if (retired_.empty() || context_.shut_down) return;
  jobs_.post_after(retired_delay, [this] { until_memory_suffices([this] { remove_retired(); }); });
}

std::shared_ptr<GlobalIndex> GlobalIndexes::find(std::string_view identity) const {
  const std::lock_guard lock(mutex_);
  const auto found = find_index(indexes_, identity);
  return found == indexes_.end() ? nullptr : *found;
}

bool GlobalIndexes::is_wanted(const GlobalIndex& index) const {
  const std::lock_guard lock(mutex_);
  return !context_.shut_down && std::ranges::any_of(indexes_, [&](const auto& one) { return one.get() == &index; });
}

GlobalIndexes::Indexes GlobalIndexes::select(bool ready) const {
  Indexes selected;
  const std::lock_guard lock(mutex_);
  std::ranges::copy_if(indexes_, std::back_inserter(selected),
                       [&](const auto& index) { return index->ready() == ready; });
  return selected;
}

bool GlobalIndexes::has_any(bool ready) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(indexes_, [&](const auto& index) { return index->ready() == ready; });
}

void GlobalIndexes::shut_down() {
  {
    const std::lock_guard lock(mutex_);
    context_.shut_down = true;
  }
  follower_->set_stopping(true);
  jobs_.stop();
  builder_.reset();
  follower_->end_task();
  until_memory_suffices([this] { remove_retired(); });
}

std::size_t GlobalIndexes::open_store_count() const {
  const std::lock_guard lock(mutex_);
  const auto is_open = [](const auto& index) { return index->store().is_open(); };
  return static_cast<std::size_t>(std::ranges::count_if(indexes_, is_open) + std::ranges::count_if(retired_, is_open));
}

std::uint64_t GlobalIndexes::last_used_ms() const {
  const std::lock_guard lock(mutex_);
  std::uint64_t newest = 0;
  for (const auto& index : indexes_) newest = std::max(newest, index->store().last_used_ms());
  return newest;
}

std::size_t GlobalIndexes::close_idle(std::uint64_t last_used_before_ms) {
  const std::lock_guard lock(mutex_);
  std::size_t closed = 0;
  for (const auto& index : indexes_) {
    auto& store = index->store();
    if (!store.is_open() || store.last_used_ms() > last_used_before_ms) continue;
    if (store.close_if_idle()) ++closed;
  }
  return closed;
}

// --- following ---

std::uint64_t GlobalIndexes::least_of(std::uint64_t (GlobalIndex::*value)() const) const {
  const std::lock_guard lock(mutex_);
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& index : indexes_) {
    if (index->ready()) least = std::min(least, ((*index).*value)());
  }
  return least;
}

storage::Sequence GlobalIndexes::followed_through() const {
  return follower_->makes_progress() ? checkpoint() : std::numeric_limits<storage::Sequence>::max();
}

Expected<std::size_t> GlobalIndexes::apply(const FeedChanges& given) {
  Indexes followed = select(true);
  std::erase_if(followed, [&](const auto& index) { return !index->can_follow_with(given); });
  std::vector<std::vector<GlobalIndex::Change>> changes(followed.size());
  std::size_t bytes = 0;
  std::size_t count = 0;
  for (; count < given.documents.size() && bytes < follow_bytes_max; ++count) {
    const FeedDocument& document = given.documents[count];
    if (storage::is_design_id(document.id)) continue;
    std::optional<IndexedDocument> indexed;
    if (document.present) {
      // A damaged document cannot be found by its values.
      if (const auto root = parser_.parse(document.json)) {
        indexed = IndexedDocument{*root, document.json, document.id, document.revision};
      }
    }
    for (std::size_t i = 0; i < followed.size(); ++i) {
      GlobalIndex::Change change{document.sequence, document.id, false, {}, {}};
      change.present = indexed && append_index_entry(followed[i]->definition(), *indexed, change.key, change.value);
      bytes += change.id.size() + change.key.size() + change.value.size();
      changes[i].push_back(std::move(change));
    }
  }
  const storage::Sequence checkpoint = given.checkpoint_after(count);
  const bool complete = given.complete && count == given.documents.size();
  for (std::size_t i = 0; i < followed.size(); ++i) {
    OCTAVO_TRY_VOID(followed[i]->apply(changes[i], checkpoint, complete, given.dropped_through));
  }
  return count;
}

// An index may have become ready since the checkpoint was read: with a lower one, it must look at all its documents.
Expected<bool> GlobalIndexes::remove_known(const KnownPurges& purges) {
  for (const auto& index : select(true)) {
    if (index->purge_count() == purges.purge_count) continue;
    OCTAVO_TRY(const bool removed, index->remove_known(purges));
    if (!removed) return false;
  }
  return true;
}

Expected<bool> GlobalIndexes::remove_purged(const GoneDocuments& gone, std::size_t documents_max) {
  for (const auto& index : select(true)) {
    const bool knows_deletions = index->knows_deletions_through() >= gone.dropped_through;
    if (index->purge_count() == gone.purge_count && knows_deletions) continue;
    OCTAVO_TRY(const bool through, index->remove_purged(gone, documents_max));
    if (!through) return false;
  }
  return true;
}

void GlobalIndexes::committed() {
  if (context_.waiters.load(std::memory_order_relaxed) > 0) {
    wake();
    return;
  }
  if (wake_planned_.exchange(true, std::memory_order_acq_rel)) return;
  jobs_.post_after(follow_delay, [this] {
    wake_planned_.store(false, std::memory_order_release);
    wake();
  });
}

void GlobalIndexes::wake() {
  if (!any()) return;
  start_build();
  if (has_any(true)) follower_->wake();
}

Expected<bool> GlobalIndexes::is_current(const GlobalIndex& index, storage::Sequence sequence) const {
  if (!index.ready() || index.complete_through() < sequence) return false;
  OCTAVO_TRY(const std::uint64_t purge_count, database_.purge_count());
  return index.purge_count() >= purge_count;
}

Task<Expected<void>> GlobalIndexes::wait_until_current(std::shared_ptr<GlobalIndex> index, storage::Sequence sequence,
                                                       std::chrono::steady_clock::time_point deadline) {
  start_build();
  return follower_->wait(
      [this, index = std::move(index), sequence, attempts = build_attempts()]() -> Expected<bool> {
        if (!index->ready()) {
          if (auto failure = build_failure_after(attempts)) return std::unexpected(*std::move(failure));
        }
        return is_current(*index, sequence);
      },
      deadline);
}

// --- building ---

void GlobalIndexes::start_build() {
  if (!has_any(false)) return;
  const std::lock_guard lock(mutex_);
  if (building_ || context_.shut_down || std::chrono::steady_clock::now() < build_not_before_) return;
  building_ = true;
  jobs_.post([this] { build(); });
}

void GlobalIndexes::build() {
  std::uint64_t attempt = 0;
  {
    const std::lock_guard lock(mutex_);
    attempt = ++build_attempts_;
  }
  const auto state = run_guarded("building indexes", [this] { return build_slice(); });
  if (state && *state == GlobalIndexBuilder::State::more) {
    jobs_.post([this] { build(); });
    return;
  }
  builder_.reset();
  if (!state) {
    build_retry_delay_ = std::clamp(2 * build_retry_delay_, build_retry_delay_min, build_retry_delay_max);
    {
      const std::lock_guard lock(mutex_);
      building_ = false;
      build_not_before_ = std::chrono::steady_clock::now() + build_retry_delay_;
      build_failure_ = copy_when_memory_suffices(state.error());
      failed_build_ = attempt;
    }
    if (!database_.deleted()) {
      spdlog::warn("database {}: building global indexes waits: {}", database_.name(), reason_of(state.error()));
    }
    context_.progress.notify_all();
    jobs_.post_after(build_retry_delay_, [this] { wake(); });
    return;
  }
  build_retry_delay_ = {};
  {
    const std::lock_guard lock(mutex_);
    building_ = false;
  }
  built_();
  wake();
}

Expected<GlobalIndexBuilder::State> GlobalIndexes::build_slice() {
  if (!builder_) {
    auto unbuilt = select(false);
    if (unbuilt.empty()) return GlobalIndexBuilder::State::done;
    builder_ = std::make_unique<GlobalIndexBuilder>(database_, std::move(unbuilt), tasks_);
  }
  return builder_->run();
}

std::uint64_t GlobalIndexes::build_attempts() const {
  const std::lock_guard lock(mutex_);
  return build_attempts_;
}

std::optional<Error> GlobalIndexes::build_failure_after(std::uint64_t attempts) const {
  const std::lock_guard lock(mutex_);
  return failed_build_ > attempts ? build_failure_ : std::nullopt;
}

}  // namespace octavo::query
