#include "storage/partition/writer_pool.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace octavo::storage {

WriterPool::WriterPool(std::size_t thread_count, std::size_t queued_bytes_max) : queued_bytes_max_(queued_bytes_max) {
  threads_.reserve(thread_count);
  for (std::size_t i = 0; i < thread_count; ++i) threads_.emplace_back([this] { run(); });
}

WriterPool::~WriterPool() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  threads_.clear();
}

void WriterPool::schedule(std::shared_ptr<WriteSource> source) noexcept {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    append(std::move(source));
  }
  wake_.notify_one();
}

void WriterPool::count_commit(std::size_t requests, std::chrono::steady_clock::duration duration) noexcept {
  const auto bucket = std::ranges::lower_bound(CommitTotals::bounds, duration) - CommitTotals::bounds.begin();
  const auto microseconds = std::chrono::duration_cast<std::chrono::microseconds>(duration).count();
  commits_by_duration_[static_cast<std::size_t>(bucket)].fetch_add(1, std::memory_order_relaxed);
  commit_microseconds_.fetch_add(static_cast<std::uint64_t>(microseconds), std::memory_order_relaxed);
  committed_requests_.fetch_add(requests, std::memory_order_relaxed);
}

CommitTotals WriterPool::commit_totals() const {
  CommitTotals totals;
  for (std::size_t i = 0; i < totals.by_duration.size(); ++i) {
    totals.by_duration[i] = commits_by_duration_[i].load(std::memory_order_relaxed);
  }
  totals.duration = std::chrono::microseconds(commit_microseconds_.load(std::memory_order_relaxed));
  totals.requests = committed_requests_.load(std::memory_order_relaxed);
  return totals;
}

void WriterPool::run_out() {
  std::unique_lock<std::mutex> lock(mutex_);
  idle_.wait(lock, [this] { return first_ == nullptr && draining_ == 0; });
}

void WriterPool::append(std::shared_ptr<WriteSource> source) {
  OCTAVO_ASSERT(source != nullptr);
  OCTAVO_ASSERT(source->next_in_line_ == nullptr && source.get() != last_);  // it is not in the queue already
  WriteSource* const added = source.get();
  (last_ == nullptr ? first_ : last_->next_in_line_) = std::move(source);
  last_ = added;
}

std::shared_ptr<WriteSource> WriterPool::take_first() {
  OCTAVO_ASSERT(first_ != nullptr);
  std::shared_ptr<WriteSource> taken = std::move(first_);
  first_ = std::move(taken->next_in_line_);
  if (first_ == nullptr) last_ = nullptr;
  return taken;
}

void WriterPool::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || first_ != nullptr; });
    if (first_ == nullptr) return;
    std::shared_ptr<WriteSource> source = take_first();
    ++draining_;
    lock.unlock();
    const bool more = source->drain();
    lock.lock();
    if (more) append(std::move(source));
    // `source` may be the last reference to a partition whose destructor takes time: release it without the lock.
    lock.unlock();
    source.reset();
    lock.lock();
    if (--draining_ == 0 && first_ == nullptr) idle_.notify_all();
  }
}

}  // namespace octavo::storage
