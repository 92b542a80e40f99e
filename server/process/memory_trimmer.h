#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace octavo::server {

/// Gives each block of a megabyte or more its own pages, which return to the system when it is freed. By default glibc
/// raises this threshold when such blocks are freed. LMDB's buffers (3 MB per open store, rarely touched) would
/// then be taken from used memory and cleared, which makes them resident. Call before other threads start.
void keep_large_blocks_apart();

/// Returns memory to the system that a burst (many connections, a large build) allocated and freed: otherwise glibc
/// keeps it in every thread's arena. Checks periodically, and trims only if much memory is free.
class MemoryTrimmer {
 public:
  MemoryTrimmer();
  ~MemoryTrimmer();
  MemoryTrimmer(const MemoryTrimmer&) = delete;
  MemoryTrimmer& operator=(const MemoryTrimmer&) = delete;

 private:
  void run(const std::stop_token& stop);
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread thread_;
};

}  // namespace octavo::server
