#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>

#include "analytics/channel/channel.h"
#include "analytics/worker/worker.h"
#include "base/error.h"

namespace octavo::analytics {

/// The analytical process, as the server sees it: started when it is first needed, watched, and started again when it
/// is needed after it has ended, with a delay that grows as long as it ends soon. Thread-safe.
class Process {
 public:
  explicit Process(WorkerOptions options);
  ~Process() { stop(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  /// Begins an operation: a channel to the process. Starts it if it does not run, which blocks for about a second.
  /// Errors: overloaded: it has ended, and starts again after its delay; unsupported (analytics_library): the library
  /// cannot be used.
  Expected<Channel> connect();
  /// Ends the process, which does not answer any more.
  void kill();
  /// Ends the process for good. Idempotent.
  void stop();

  struct Status {
    bool runs = false;
    std::uint64_t starts = 0;
    std::string version;  ///< of DuckDB; empty: not known yet
  };
  Status status() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t { stopped, wanted, running };

  void watch();
  Expected<pid_t> start();
  Expected<std::string> read_report(const Descriptor& control, pid_t pid) const;
  void ended();

  const WorkerOptions options_;
  mutable std::mutex mutex_;  ///< guards the members up to the empty line
  std::condition_variable changed_;
  State state_ = State::stopped;
  bool stopping_ = false;
  pid_t pid_ = -1;  ///< not reaped yet; -1: none
  Descriptor control_;
  Error failure_;  ///< of the last start
  bool has_failed_ = false;
  std::chrono::milliseconds delay_{0};
  Clock::time_point not_before_{};
  Clock::time_point running_since_{};
  std::uint64_t starts_ = 0;
  std::string version_;

  /// Starts the process and waits for it: the process is to die with the thread that has started it.
  std::thread thread_;
};

}  // namespace octavo::analytics
