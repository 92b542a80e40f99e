#include "server/process/memory_trimmer.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <malloc.h>

namespace octavo::server {
namespace {

constexpr std::chrono::seconds trim_interval{3};
/// Fewer free bytes are not worth walking the arenas.
constexpr std::size_t free_bytes_min = 16ULL << 20;

constexpr int large_block_bytes = 1 << 20;

}  // namespace

void keep_large_blocks_apart() {
  mallopt(M_MMAP_THRESHOLD, large_block_bytes);
}

MemoryTrimmer::MemoryTrimmer() : thread_([this](const std::stop_token& stop) { run(stop); }) {}

MemoryTrimmer::~MemoryTrimmer() {
  thread_.request_stop();
  wake_.notify_all();
}

void MemoryTrimmer::run(const std::stop_token& stop) {
  std::unique_lock<std::mutex> lock(mutex_);
  std::size_t free_after_trim = 0;
  while (!stop.stop_requested()) {
    wake_.wait_for(lock, stop, trim_interval, [] { return false; });
    if (stop.stop_requested()) return;
    // Free bytes include those already returned to the system, so only growth since the last trim counts.
    const std::size_t free_bytes = mallinfo2().fordblks;
    free_after_trim = std::min(free_after_trim, free_bytes);
    if (free_bytes - free_after_trim < free_bytes_min) continue;
    static_cast<void>(malloc_trim(0));
    free_after_trim = mallinfo2().fordblks;
  }
}

}  // namespace octavo::server
