#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace octavo::server {

/// Blocks of a megabyte and more each get pages of their own, which go back to the system with them. By default glibc
/// stops that for sizes that come and go, and LMDB's buffers (3 MB for each open environment, hardly ever touched) are
/// then cut from used memory and cleared, which makes all of it resident. Before other threads start.
void keep_large_blocks_apart();

/// Gives memory back to the system that a burst (many connections, a large build) took and freed: glibc keeps it
/// otherwise, in every thread's arena. Looks now and then, and acts only when there is much to gain.
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
