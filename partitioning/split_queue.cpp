#include "partitioning/split_queue.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "storage/partition/physical_partition.h"

namespace octavo::partitioning {

namespace {

// For this long, a partition that is too large but cannot be split, or whose split failed, is not tried again.
constexpr std::chrono::minutes refused_for{60};

std::size_t widest(const PartitionMap& map) {
  const auto& ranges = map.ranges();
  OCTAVO_ASSERT(!ranges.empty());
  const auto found = std::ranges::max_element(ranges, {}, [](const auto& range) { return range.last - range.first; });
  return map.partition_ids()[static_cast<std::size_t>(found - ranges.begin())];
}

bool has_ended(SplitQueue::State state) {
  return state == SplitQueue::State::completed || state == SplitQueue::State::failed;
}

}  // namespace

SplitQueue::~SplitQueue() {
  stop();
}

Expected<std::uint64_t> SplitQueue::add(const std::shared_ptr<Database>& database, std::size_t partition_id) {
  return enqueue(database, partition_id, 0);
}

Expected<std::uint64_t> SplitQueue::enqueue(const std::shared_ptr<Database>& database, std::size_t partition_id,
                                            std::size_t grow_to) {
  const PartitionMap& map = database->partition_map();
  const auto* range = map.range_of(partition_id);
  if (range == nullptr) return fail(ErrorCode::bad_request, "There is no such physical partition.");
  if (map.size() >= partitions_max) {
    return fail(ErrorCode::bad_request, "A database may have at most 1024 physical partitions.");
  }
  const std::lock_guard lock(mutex_);
  if (stopping_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  for (const auto& entry : entries_) {
    if (!has_ended(entry->job.state) && entry->database == database && entry->job.partition_id == partition_id) {
      return fail(ErrorCode::bad_request, "This physical partition is being split already.");
    }
  }
  if (entries_.size() >= jobs_max) {
    const auto ended = std::ranges::find_if(entries_, [](const auto& entry) { return has_ended(entry->job.state); });
    if (ended == entries_.end()) return fail(ErrorCode::overloaded, "Too many splits are waiting; try again later.");
    entries_.erase(ended);
  }
  auto entry = std::make_shared<Entry>();
  entry->database = database;
  entry->grow_to = grow_to;
  entry->job.number = ++last_number_;
  entry->job.database = database->name();
  entry->job.instance_tag = database->instance_tag();
  entry->job.partition_id = partition_id;
  entry->job.source = *range;
  entry->job.created = entry->job.updated = std::chrono::system_clock::now();
  entries_.push_back(std::move(entry));
  wake();
  return last_number_;
}

void SplitQueue::start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  if (!entries_.empty()) wake();
}

// Call with mutex_ held.
void SplitQueue::wake() {
  if (!started_ || stopping_) return;
  if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  wake_.notify_one();
}

void SplitQueue::grow(const std::shared_ptr<Database>& database, std::size_t count) {
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
  // Refused if a job without `grow_to` is splitting the widest partition. The growth is not lost: that job changes the
  // map, and the extension, which is told so (DatabaseExtension::partitions_changed), calls this function again.
  const auto added = enqueue(database, widest(database->partition_map()), count);
  if (!added) spdlog::warn("database {}: {}", database->name(), added.error().reason);
}

SplitQueue::Job SplitQueue::shown(const Entry& entry) const {
  Job job = entry.job;
  if (entry.split) {
    job.stage = entry.split->stage();
    job.copied = entry.split->copied();
    job.expected = entry.split->expected();
  }
  return job;
}

std::vector<SplitQueue::Job> SplitQueue::jobs() const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> jobs;
  jobs.reserve(entries_.size());
  for (const auto& entry : entries_) jobs.push_back(shown(*entry));
  return jobs;
}

std::optional<SplitQueue::Job> SplitQueue::job(std::uint64_t number) const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->job.number == number) return shown(*entry);
  }
  return std::nullopt;
}

bool SplitQueue::forget(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find(entries_, number, [](const auto& entry) { return entry->job.number; });
  if (found == entries_.end()) return false;
  (*found)->stop->store(true);
  entries_.erase(found);
  return true;
}

// Call with mutex_ held.
std::shared_ptr<SplitQueue::Entry> SplitQueue::entry_of(std::uint64_t number) const {
  const auto found = std::ranges::find(entries_, number, [](const auto& entry) { return entry->job.number; });
  return found == entries_.end() ? nullptr : *found;
}

// Call with mutex_ held and the job not running.
void SplitQueue::hold(Entry& entry) {
  entry.job.state = State::stopped;
  entry.job.failure = entry.hold_reason;
  entry.job.updated = std::chrono::system_clock::now();
}

bool SplitQueue::stop_job(std::uint64_t number, std::string reason) {
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

bool SplitQueue::resume_job(std::uint64_t number) {
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

void SplitQueue::pause(std::string reason) {
  const std::lock_guard lock(mutex_);
  pause_reason_ = std::move(reason);
  for (const auto& entry : entries_) {
    if (entry->job.state == State::running) entry->put_off->store(true);
  }
}

void SplitQueue::resume() {
  const std::lock_guard lock(mutex_);
  pause_reason_.reset();
  if (!entries_.empty()) wake();
}

std::optional<std::string> SplitQueue::pause_reason() const {
  const std::lock_guard lock(mutex_);
  return pause_reason_;
}

void SplitQueue::run() {
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

void SplitQueue::run_one(Entry& entry, std::unique_lock<std::mutex>& lock) {
  OCTAVO_ASSERT(lock.owns_lock());
  OCTAVO_ASSERT(entry.job.state == State::queued && entry.database != nullptr);
  auto split = std::make_shared<PartitionSplit>(
      entry.database, entry.job.partition_id,
      [stop = entry.stop, put_off = entry.put_off] {
        return stop->load(std::memory_order_relaxed) || put_off->load(std::memory_order_relaxed);
      },
      [this] {
        const std::lock_guard ends(mutex_);
        return stopping_;
      });
  entry.split = split;
  entry.put_off->store(false);
  entry.job.state = State::running;
  entry.job.updated = std::chrono::system_clock::now();
  lock.unlock();
  const auto begun = Clock::now();
  const auto result = split->run();
  const std::chrono::duration<double> took = Clock::now() - begun;
  if (!result && entry.put_off->load() && !entry.stop->load()) {
    {
      const std::lock_guard ends(mutex_);
      entry.split.reset();
    }
    split.reset();
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
      for (const auto& range : entry.database->partition_map().ranges()) {
        const bool is_target = !range.ancestors.empty() && range.ancestors.back() == job.partition_id;
        if (is_target) job.targets.push_back(range);
      }
      sources_.push_back({entry.database, job.partition_id, Clock::now() + source_kept_});
      grow_to = entry.grow_to;
    } else {
      job.failure = result.error().reason;
      refused_.push_back({job.instance_tag, job.partition_id, Clock::now() + refused_for});
    }
    job.state = result ? State::completed : State::failed;
    entry.job = std::move(job);
    entry.split.reset();
    database = std::move(entry.database);
  });
  if (result) {
    spdlog::info("database {}: physical partition {} was split, {} documents in {:.1f} s", database->name(),
                 entry.job.partition_id, entry.job.copied, took.count());
  } else if (!entry.stop->load()) {
    spdlog::error("database {}: physical partition {} could not be split: {}", database->name(), entry.job.partition_id,
                  result.error().reason);
  }
  if (grow_to != 0) until_memory_suffices([&] { grow(database, grow_to); });
  split.reset();
  database.reset();  // perhaps the last reference: release it without the lock
  lock.lock();
}

// A job that waits must not keep the files of a deleted database.
void SplitQueue::end_jobs_of_deleted() {
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

void SplitQueue::tend(const std::vector<std::shared_ptr<Database>>& open_databases, std::uint64_t bytes_max) {
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
        const bool known = std::ranges::any_of(entries_, [&](const auto& entry) {
          return !has_ended(entry->job.state) && entry->database == database && entry->job.partition_id == partition_id;
        });
        if (refused || known) continue;
      }
      // A logical partition is never divided, so one that fills its physical partition alone stays there.
      const auto cut = PartitionSplit::balanced_cut(*database, partition_id);
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

// A source that is being read is tried again later.
void SplitQueue::remove_sources() {
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

void SplitQueue::stop() {
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
