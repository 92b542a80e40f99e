#include "partitioning/move_queue.h"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "partitioning/throughput/throughput_budget.h"
#include "storage/partition/physical_partition.h"

namespace octavo::partitioning {

namespace {

// For this long, a partition that is too large but cannot be split, or whose split failed, is not tried again.
constexpr std::chrono::minutes refused_for{60};
// How often the sizes of neighbours are looked at. The request units of a minute are known, so no peak is missed.
constexpr std::chrono::seconds watched_every{10};

/// Partition ids, the widest ranges first.
std::vector<std::size_t> by_width(const PartitionMap& map) {
  std::vector<std::size_t> ids = map.partition_ids();
  std::ranges::sort(ids, [&](std::size_t one, std::size_t other) {
    const auto* a = map.range_of(one);
    const auto* b = map.range_of(other);
    return std::pair(b->last - b->first, a->first) < std::pair(a->last - a->first, b->first);
  });
  return ids;
}

bool has_ended(MoveQueue::State state) {
  return state == MoveQueue::State::completed || state == MoveQueue::State::failed;
}

MergeView merge_view(const Database& database, std::uint64_t split_bytes) {
  MergeView view;
  const PartitionMap& map = database.partition_map();
  for (const std::size_t partition_id : map.partition_ids()) {
    MergeView::Part part;
    part.partition_id = partition_id;
    part.per_second = database.meter().report(partition_id, 0).last_minute / 60;
    storage::Store& store = map.partition(partition_id)->store();
    part.bytes = storage::Store::file_bytes_in(store.options().folder);
    // A file keeps its size when documents are deleted. Reading its pages counts as use, so a closed one stays large.
    if (part.bytes && *part.bytes >= split_bytes / 100 * MergeWatch::percent_max) {
      const auto sizes = store.is_open() ? store.sizes() : Expected<storage::Store::Sizes>(std::unexpected(Error{}));
      part.bytes = sizes ? std::optional(sizes->used_bytes) : std::nullopt;
    }
    view.parts.push_back(part);
  }
  const std::size_t needed = database.extension() != nullptr ? database.extension()->partitions_needed() : 1;
  view.count_min = std::max<std::size_t>(database.created_q(), needed);
  return view;
}

// For the log: "physical partition 3 was split".
std::string described(const MoveQueue::Job& job, std::string_view one_verb, std::string_view two_verb) {
  const auto& ids = job.partition_ids;
  return job.is_merge() ? fmt::format("physical partitions {} and {} {} merged", ids[0], ids[1], two_verb)
                        : fmt::format("physical partition {} {} split", ids[0], one_verb);
}

}  // namespace

MoveQueue::~MoveQueue() {
  stop();
}

Expected<std::uint64_t> MoveQueue::add(const std::shared_ptr<Database>& database, std::size_t partition_id) {
  return enqueue(database, {partition_id}, 0);
}

Expected<std::uint64_t> MoveQueue::add_merge(const std::shared_ptr<Database>& database, std::size_t partition_id,
                                             std::size_t other) {
  OCTAVO_TRY_VOID(PartitionMove::check_merge(*database, partition_id, other));
  return enqueue(database, {partition_id, other}, 0);
}

Expected<std::pair<std::size_t, std::size_t>> MoveQueue::smallest_pair(const Database& database) {
  const PartitionMap& map = database.partition_map();
  const auto& ids = map.partition_ids();
  std::vector<std::uint64_t> bytes;
  for (const std::size_t partition_id : ids) {
    OCTAVO_TRY(const auto sizes, map.partition(partition_id)->store().sizes());
    bytes.push_back(sizes.used_bytes);
  }
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
    if (!best || bytes[i] + bytes[i + 1] < bytes[*best] + bytes[*best + 1]) best = i;
  }
  if (!best) return fail(ErrorCode::bad_request, "The database has a single physical partition.");
  return std::pair(ids[*best], ids[*best + 1]);
}

bool MoveQueue::concerns(const Entry& entry, const Database& database, std::span<const std::size_t> partition_ids) {
  if (has_ended(entry.job.state) || entry.database.get() != &database) return false;
  return std::ranges::any_of(partition_ids, [&](std::size_t partition_id) {
    return std::ranges::find(entry.job.partition_ids, partition_id) != entry.job.partition_ids.end();
  });
}

Expected<std::uint64_t> MoveQueue::enqueue(const std::shared_ptr<Database>& database,
                                           std::vector<std::size_t> partition_ids, std::size_t grow_to) {
  const PartitionMap& map = database->partition_map();
  std::vector<storage::PartitionMapEntry> sources;
  for (const std::size_t partition_id : partition_ids) {
    const auto* range = map.range_of(partition_id);
    if (range == nullptr) return fail(ErrorCode::bad_request, "There is no such physical partition.");
    sources.push_back(*range);
  }
  std::ranges::sort(sources, {}, &storage::PartitionMapEntry::first);
  if (partition_ids.size() == 1 && map.size() >= partitions_max) {
    return fail(ErrorCode::bad_request, "A database may have at most 1024 physical partitions.");
  }
  const std::lock_guard lock(mutex_);
  if (stopping_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  for (const auto& entry : entries_) {
    if (!concerns(*entry, *database, partition_ids)) continue;
    return fail(ErrorCode::bad_request, entry->job.is_merge() ? "This physical partition is being merged already."
                                                              : "This physical partition is being split already.");
  }
  if (entries_.size() >= jobs_max) {
    const auto ended = std::ranges::find_if(entries_, [](const auto& entry) { return has_ended(entry->job.state); });
    if (ended == entries_.end())
      return fail(ErrorCode::overloaded, "Too many splits and merges are waiting; try again later.");
    entries_.erase(ended);
  }
  auto entry = std::make_shared<Entry>();
  entry->database = database;
  entry->grow_to = grow_to;
  entry->job.number = ++last_number_;
  entry->job.database = database->name();
  entry->job.instance_tag = database->instance_tag();
  entry->job.partition_ids = std::move(partition_ids);
  entry->job.sources = std::move(sources);
  entry->job.created = entry->job.updated = std::chrono::system_clock::now();
  entries_.push_back(std::move(entry));
  wake();
  return last_number_;
}

void MoveQueue::start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  if (!entries_.empty()) wake();
}

// Call with mutex_ held.
void MoveQueue::wake() {
  if (!started_ || stopping_) return;
  if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  wake_.notify_one();
}

void MoveQueue::grow(const std::shared_ptr<Database>& database, std::size_t count) {
  count = std::min(count, partitions_max);
  if (database->physical_partition_count() >= count) return;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (has_ended(entry->job.state) || entry->database != database || entry->grow_to == 0) continue;
      entry->grow_to = std::max(entry->grow_to, count);
      return;
    }
  }
  for (const std::size_t partition_id : by_width(database->partition_map())) {
    if (enqueue(database, {partition_id}, count)) return;
  }
  // Other jobs move all of them. The growth is not lost: such a job changes the map, or a merge fails, and the
  // extension, which is told so (DatabaseExtension::partitions_changed), calls this function again.
  spdlog::info("database {}: will be split when the splits and merges that wait have ended", database->name());
}

MoveQueue::Job MoveQueue::shown(const Entry& entry) const {
  Job job = entry.job;
  if (entry.move) {
    job.stage = entry.move->stage();
    job.copied = entry.move->copied();
    job.expected = entry.move->expected();
  }
  return job;
}

std::vector<MoveQueue::Job> MoveQueue::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  jobs.reserve(entries_.size());
  for (const auto& entry : entries_) jobs.push_back(shown(*entry));
  return jobs;
}

std::optional<MoveQueue::Job> MoveQueue::job(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->job.number == number) return shown(*entry);
  }
  return std::nullopt;
}

bool MoveQueue::forget(std::uint64_t number) {
  std::shared_ptr<Database> waits;  // released without the lock
  {
    const std::lock_guard lock(mutex_);
    const auto entry = entry_of(number);
    if (!entry) return false;
    entry->stop->store(true);
    if (entry->job.state != State::running && entry->job.is_merge()) waits = entry->database;
    std::erase(entries_, entry);
  }
  if (waits) tell_end(*waits);
  return true;
}

// A growth may have waited for the end of a merge.
void MoveQueue::tell_end(Database& database) {
  if (database.extension() == nullptr || database.deleted()) return;
  until_memory_suffices([&] { database.extension()->partitions_changed(); });
}

// Call with mutex_ held.
std::shared_ptr<MoveQueue::Entry> MoveQueue::entry_of(std::uint64_t number) const {
  const auto found = std::ranges::find(entries_, number, [](const auto& entry) { return entry->job.number; });
  return found == entries_.end() ? nullptr : *found;
}

// Call with mutex_ held and the job not running.
void MoveQueue::hold(Entry& entry) {
  entry.job.state = State::stopped;
  entry.job.failure = entry.hold_reason;
  entry.job.updated = std::chrono::system_clock::now();
}

bool MoveQueue::stop_job(std::uint64_t number, std::string reason) {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_of(number);
  if (!entry) return false;
  if (has_ended(entry->job.state)) return true;
  entry->held = true;
  entry->hold_reason = std::move(reason);
  if (entry->job.state == State::running) {
    entry->put_off->store(true);
  } else {
    hold(*entry);
  }
  return true;
}

bool MoveQueue::resume_job(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto entry = entry_of(number);
  if (!entry) return false;
  entry->held = false;
  if (entry->job.state != State::stopped) return true;
  entry->job.state = State::queued;
  entry->job.failure.clear();
  entry->job.updated = std::chrono::system_clock::now();
  wake();
  return true;
}

void MoveQueue::pause(std::string reason) {
  const std::lock_guard lock(mutex_);
  pause_reason_ = std::move(reason);
  for (const auto& entry : entries_) {
    if (entry->job.state == State::running) entry->put_off->store(true);
  }
}

void MoveQueue::resume() {
  const std::lock_guard lock(mutex_);
  pause_reason_.reset();
  if (!entries_.empty()) wake();
}

std::optional<std::string> MoveQueue::pause_reason() const {
  const std::lock_guard lock(mutex_);
  return pause_reason_;
}

void MoveQueue::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    std::shared_ptr<Entry> next;
    wake_.wait(lock, [&] {
      if (pause_reason_) return stopping_;
      const auto found =
          std::ranges::find_if(entries_, [](const auto& entry) { return entry->job.state == State::queued; });
      if (found != entries_.end()) next = *found;
      return stopping_ || next;
    });
    if (stopping_) return;
    until_memory_suffices([&] { run_one(*next, lock); });
  }
}

void MoveQueue::run_one(Entry& entry, std::unique_lock<std::mutex>& lock) {
  OCTAVO_ASSERT(lock.owns_lock());
  OCTAVO_ASSERT(entry.job.state == State::queued && entry.database != nullptr);
  auto move = std::make_shared<PartitionMove>(
      entry.database, entry.job.partition_ids,
      [stop = entry.stop, put_off = entry.put_off] {
        return stop->load(std::memory_order_relaxed) || put_off->load(std::memory_order_relaxed);
      },
      [this] {
        const std::lock_guard ends(mutex_);
        return stopping_;
      });
  entry.move = move;
  entry.put_off->store(false);
  entry.job.state = State::running;
  entry.job.updated = std::chrono::system_clock::now();
  lock.unlock();
  const auto begun = Clock::now();
  const auto result = move->run();
  const std::chrono::duration<double> took = Clock::now() - begun;
  if (!result && entry.put_off->load() && !entry.stop->load()) {
    {
      const std::lock_guard ends(mutex_);
      entry.move.reset();
    }
    move.reset();
    lock.lock();
    if (entry.held) {
      hold(entry);
    } else {
      entry.job.state = State::queued;
      entry.job.updated = std::chrono::system_clock::now();
    }
    return;
  }
  std::size_t grow_to = 0;
  std::shared_ptr<Database> database;
  until_memory_suffices([&] {
    const std::lock_guard ended(mutex_);
    Job job = shown(entry);
    job.updated = std::chrono::system_clock::now();
    if (result) {
      job.targets = entry.move->targets();
      for (const std::size_t partition_id : job.partition_ids) {
        sources_.push_back({entry.database, partition_id, Clock::now() + source_kept_});
      }
      grow_to = entry.grow_to;
    } else {
      job.failure = reason_of(result.error());
      if (!job.is_merge()) {
        refused_.push_back({job.instance_tag, job.partition_ids.front(), Clock::now() + refused_for});
      }
    }
    job.state = result ? State::completed : State::failed;
    entry.job = std::move(job);
    entry.move.reset();
    database = std::move(entry.database);
  });
  if (result) {
    spdlog::info("database {}: {}, {} documents in {:.1f} s", database->name(), described(entry.job, "was", "were"),
                 entry.job.copied, took.count());
  } else if (!entry.stop->load()) {
    spdlog::error("database {}: {}: {}", database->name(), described(entry.job, "could not be", "could not be"),
                  reason_of(result.error()));
  }
  if (grow_to != 0) until_memory_suffices([&] { grow(database, grow_to); });
  if (!result && entry.job.is_merge()) tell_end(*database);
  move.reset();
  database.reset();  // perhaps the last reference: release it without the lock
  lock.lock();
}

// A job that waits must not keep the files of a deleted database.
void MoveQueue::end_jobs_of_deleted() {
  std::vector<std::shared_ptr<Database>> released;  // perhaps the last references: without the lock
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    const bool waits = entry->job.state == State::queued || entry->job.state == State::stopped;
    if (!waits || entry->database == nullptr || !entry->database->deleted()) continue;
    entry->job.state = State::failed;
    entry->job.failure = "The database was deleted.";
    entry->job.updated = std::chrono::system_clock::now();
    released.push_back(std::move(entry->database));
  }
}

void MoveQueue::tend(const std::vector<std::shared_ptr<Database>>& open_databases, std::uint64_t bytes_max) {
  {
    const std::lock_guard lock(mutex_);
    if (!started_) return;
  }
  end_jobs_of_deleted();
  remove_sources();
  for (const auto& database : open_databases) {
    const PartitionMap& map = database->partition_map();
    for (const std::size_t partition_id : map.partition_ids()) {
      auto& store = map.partition(partition_id)->store();
      // The file size first: reading the pages counts as use, and would keep the store open.
      const auto file_bytes = storage::Store::file_bytes_in(store.options().folder);
      if (!file_bytes || *file_bytes <= bytes_max || !store.is_open()) continue;
      const auto sizes = store.sizes();
      if (!sizes || sizes->used_bytes <= bytes_max) continue;
      {
        const std::lock_guard lock(mutex_);
        std::erase_if(refused_, [](const Refused& refused) { return refused.until < Clock::now(); });
        const bool refused = std::ranges::any_of(refused_, [&](const Refused& known) {
          return known.partition_id == partition_id && known.instance_tag == database->instance_tag();
        });
        const bool known = std::ranges::any_of(
            entries_, [&](const auto& entry) { return concerns(*entry, *database, std::span(&partition_id, 1)); });
        if (refused || known) continue;
      }
      // A logical partition is never divided, so one that fills its physical partition alone stays there.
      const auto cut = PartitionMove::balanced_cut(*database, partition_id);
      auto added = cut && *cut ? add(database, partition_id) : Expected<std::uint64_t>(std::unexpected(Error{}));
      if (added) {
        spdlog::info("database {}: physical partition {} has {} bytes and is split", database->name(), partition_id,
                     sizes->used_bytes);
        continue;
      }
      const std::lock_guard lock(mutex_);
      refused_.push_back({database->instance_tag(), partition_id, Clock::now() + refused_for});
    }
  }
}

bool MoveQueue::has_jobs_of(const Database& database) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(
      entries_, [&](const auto& entry) { return !has_ended(entry->job.state) && entry->database.get() == &database; });
}

void MoveQueue::tend_merges(const std::vector<std::shared_ptr<Database>>& open_databases,
                            const config::Settings& settings) {
  const auto now = Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (!started_ || now < merges_due_) return;
  }
  merges_due_ = now + std::min<Clock::duration>(settings.merge_after_s / 8, watched_every);
  std::set<std::string, std::less<>> watched;
  for (const auto& database : open_databases) {
    if (!settings.merge || database->deleted() || database->physical_partition_count() < 2) continue;
    watched.insert(database->instance_tag());
    MergeView view = merge_view(*database, settings.physical_partition_bytes_max);
    const auto seen = database->client_without_merges();
    const bool is_recent = seen != Clock::time_point::min() && now - seen < settings.merge_after_s;
    view.waits = is_recent || has_jobs_of(*database);
    const auto pair = merge_watch_.note(database->instance_tag(), view,
                                        {.bytes = settings.physical_partition_bytes_max,
                                         .per_second = partition_throughput_max,
                                         .after = settings.merge_after_s},
                                        now);
    if (!pair) continue;
    if (const auto added = add_merge(database, pair->first, pair->second); added) {
      spdlog::info("database {}: physical partitions {} and {} have stayed small and are merged", database->name(),
                   pair->first, pair->second);
    } else {
      spdlog::warn("database {}: physical partitions {} and {} have stayed small, but cannot be merged: {}",
                   database->name(), pair->first, pair->second, reason_of(added.error()));
    }
  }
  merge_watch_.keep_only(watched);
}

// A source that is being read is tried again later.
void MoveQueue::remove_sources() {
  std::vector<Source> due;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(sources_, [&](Source& source) {
      if (source.remove_at > Clock::now()) return false;
      due.push_back(source);
      return true;
    });
  }
  for (const Source& source : due) {
    const auto database = source.database.lock();
    if (!database) continue;  // removed when the database is next opened
    if (database->physical_partition(source.partition_id).discard()) continue;
    const std::lock_guard lock(mutex_);
    sources_.push_back(source);
  }
}

void MoveQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const auto& entry : entries_) entry->stop->store(true);
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  const std::lock_guard lock(mutex_);
  entries_.clear();
}

}  // namespace octavo::partitioning
