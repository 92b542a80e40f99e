#include "storage/compaction_queue.h"

#include <algorithm>
#include <utility>

#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/memory_retry.h"

namespace octavo::storage {

namespace {

std::uint64_t file_bytes_of(const CompactionQueue::Target& target) {
  if (target.store != nullptr) return Store::file_bytes_in(target.store->options().folder).value_or(0);
  return target.files.file_bytes();
}

}  // namespace

CompactionQueue::~CompactionQueue() {
  stop();
}

Expected<void> CompactionQueue::add(std::vector<Target> targets) {
  const std::lock_guard lock(mutex_);
  if (is_stopping_) return fail(ErrorCode::overloaded, "The server is shutting down.");
  if (entries_.size() + targets.size() > waiting_max) {
    return fail(ErrorCode::overloaded, "Too many compactions are waiting; try again later.");
  }
  std::vector<std::shared_ptr<Entry>> added;
  added.reserve(targets.size());
  const auto is_known = [&](const void* subject) {
    const auto is_of_it = [&](const auto& entry) { return entry->target.subject() == subject; };
    return std::ranges::any_of(entries_, is_of_it) || std::ranges::any_of(added, is_of_it);
  };
  for (Target& target : targets) {
    OCTAVO_ASSERT(target.owner != nullptr && target.subject() != nullptr && target.is_gone);
    OCTAVO_ASSERT(target.store != nullptr || (target.files.compact && target.files.file_bytes && target.files.density));
    // An owner is gone before forget() is called for it, so that no entry is added after that.
    if (is_known(target.subject()) || target.is_gone()) continue;
    auto entry = std::make_shared<Entry>();
    entry->number = last_number_ + added.size() + 1;
    entry->target = std::move(target);
    added.push_back(std::move(entry));
  }
  if (added.empty()) return {};
  if (!thread_.joinable()) thread_ = std::jthread([this] { run(); });
  // The thread is woken for all that were added: nothing is, if memory does not suffice for each of them.
  entries_.insert(entries_.end(), added.begin(), added.end());
  last_number_ += added.size();
  wake_.notify_one();
  return {};
}

std::optional<CompactionQueue::Progress> CompactionQueue::running() const {
  const std::lock_guard lock(mutex_);
  if (entries_.empty() || !entries_.front()->is_running) return std::nullopt;
  const Entry& entry = *entries_.front();
  Progress progress;
  progress.number = entry.number;
  progress.database = entry.target.database;
  progress.design_document = entry.target.design_document;
  progress.started = entry.started;
  if (entry.preparation) {
    progress.is_preparing = true;
    progress.rows_done = entry.preparation->rows_done();
    progress.rows_expected = entry.preparation->rows_expected();
  }
  if (!entry.compaction) return progress;
  progress.stage = entry.compaction->stage();
  progress.rows_done = entry.compaction->rows_copied();
  progress.rows_expected = entry.compaction->rows_expected();
  return progress;
}

CompactionQueue::Totals CompactionQueue::totals() const {
  const std::lock_guard lock(mutex_);
  Totals totals = totals_;
  totals.waiting = entries_.size();
  return totals;
}

bool CompactionQueue::is_compacting(const void* owner) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [&](const auto& entry) { return entry->target.owner.get() == owner; });
}

bool CompactionQueue::is_compacting(const void* owner, std::string_view design_document) const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(entries_, [&](const auto& entry) {
    return entry->target.owner.get() == owner && entry->target.design_document == design_document;
  });
}

void CompactionQueue::forget(const void* owner) {
  std::deque<std::shared_ptr<Entry>> gone;  // released without the lock: perhaps the last references to the owner
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_) {
    if (entry->target.owner.get() != owner) continue;
    entry->is_stopped.store(true, std::memory_order_relaxed);
    gone.push_back(entry);
  }
  std::erase_if(entries_, [&](const auto& entry) { return entry->target.owner.get() == owner; });
}

void CompactionQueue::run() {
  while (true) {
    std::shared_ptr<Entry> next;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return is_stopping_ || !entries_.empty(); });
      if (is_stopping_) return;
      next = entries_.front();
    }
    run_one(*next);
    const std::lock_guard lock(mutex_);
    std::erase(entries_, next);
  }
}

void CompactionQueue::run_one(Entry& entry) {
  const Target& target = entry.target;
  const auto is_stopped = [&entry] {
    return entry.is_stopped.load(std::memory_order_relaxed) || entry.target.is_gone();
  };
  if (is_stopped()) return;
  {
    const std::lock_guard lock(mutex_);
    entry.is_running = true;
    entry.started = std::chrono::system_clock::now();
  }
  if (target.prepare) prepare(entry, is_stopped);
  if (is_stopped()) return;
  std::uint64_t bytes_before = 0;
  until_memory_suffices([&] { bytes_before = file_bytes_of(target); });
  const auto begun = std::chrono::steady_clock::now();
  const auto result = compact(entry, is_stopped);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
  std::uint64_t bytes_after = 0;
  until_memory_suffices([&] { bytes_after = file_bytes_of(target); });
  {
    const std::lock_guard lock(mutex_);
    entry.is_running = false;
    entry.compaction.reset();
    if (result) {
      ++totals_.completed;
      totals_.returned_bytes += bytes_before - std::min(bytes_before, bytes_after);
    } else if (!is_stopped()) {
      ++totals_.failed;
    }
  }
  until_memory_suffices([&] {
    if (result) {
      spdlog::info("database {}: {} was compacted from {} to {} bytes in {:.1f} s", target.database, target.name,
                   bytes_before, bytes_after, took.count());
    } else if (!is_stopped()) {
      spdlog::error("database {}: {} could not be compacted: {}", target.database, target.name,
                    reason_of(result.error()));
    }
  });
}

// A target that could not be prepared is compacted as it is.
void CompactionQueue::prepare(Entry& entry, const std::function<bool()>& stopped) {
  std::shared_ptr<StorePreparation> preparation;
  until_memory_suffices([&] {
    preparation = std::make_shared<StorePreparation>(StorePreparation::Options{
        .stopped = stopped, .is_busy = pace_.is_busy, .bytes_per_second = bytes_per_second()});
  });
  {
    const std::lock_guard lock(mutex_);
    entry.preparation = preparation;
  }
  const auto prepared = entry.target.prepare(*preparation);
  {
    const std::lock_guard lock(mutex_);
    entry.preparation.reset();
  }
  if (prepared || stopped()) return;
  until_memory_suffices([&] {
    spdlog::error("database {}: {} could not be prepared for its compaction: {}", entry.target.database,
                  entry.target.name, reason_of(prepared.error()));
  });
}

Expected<void> CompactionQueue::compact(Entry& entry, const std::function<bool()>& stopped) {
  if (entry.target.store == nullptr) return entry.target.files.compact(stopped);
  std::shared_ptr<StoreCompaction> compaction;
  until_memory_suffices([&] {
    StoreCompaction::Options options;
    options.stopped = stopped;
    options.is_busy = pace_.is_busy;
    options.bytes_per_second = bytes_per_second();
    compaction = std::make_shared<StoreCompaction>(*entry.target.store, std::move(options));
  });
  {
    const std::lock_guard lock(mutex_);
    entry.compaction = compaction;
  }
  return compaction->run();
}

void CompactionQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
    for (const auto& entry : entries_) entry->is_stopped.store(true, std::memory_order_relaxed);
    wake_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  std::deque<std::shared_ptr<Entry>> gone;  // as in forget()
  const std::lock_guard lock(mutex_);
  gone.swap(entries_);
}

}  // namespace octavo::storage
