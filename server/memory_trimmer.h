#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

namespace octavo::server {

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
