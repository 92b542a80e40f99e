#include "storage/writer_pool.h"

#include <utility>

namespace octavo::storage {

WriterPool::WriterPool(std::size_t thread_count) {
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

void WriterPool::schedule(std::shared_ptr<WriteSource> source) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ready_.push_back(std::move(source));
  }
  wake_.notify_one();
}

void WriterPool::run() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stopping_ || !ready_.empty(); });
    if (ready_.empty()) return;
    std::shared_ptr<WriteSource> source = std::move(ready_.front());
    ready_.pop_front();
    lock.unlock();
    const bool more = source->drain();
    lock.lock();
    if (more) ready_.push_back(std::move(source));
    // `source` may be the last reference to a partition whose destructor takes time: not under the lock.
    lock.unlock();
    source.reset();
    lock.lock();
  }
}

}  // namespace octavo::storage
