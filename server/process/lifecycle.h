#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

namespace octavo::server {

/// Waits for the signals that end the process, SIGTERM (service managers, containers) and SIGINT (Ctrl-C), and for
/// SIGHUP, which reloads the configuration.
///
/// Create one in main() before any thread starts: threads inherit the blocked signals, so that only wait() gets them.
/// Also ignores SIGPIPE, because a log reader that exits must not end the server.
class ShutdownSignal {
 public:
  ShutdownSignal();
  ShutdownSignal(const ShutdownSignal&) = delete;
  ShutdownSignal& operator=(const ShutdownSignal&) = delete;

  /// Blocks until the first signal that ends the process and returns its number. Calls `reload` at each SIGHUP before.
  /// Afterwards a second signal ends the process at once, with exit code 1; everything acknowledged is already on disk.
  int wait(const std::function<void()>& reload);

 private:
  sigset_t signals_{};
};

/// Limits the time of an orderly shutdown: ends the process with exit code 0 if this object still exists after `time`.
/// Nothing acknowledged is lost. A supervisor would kill the process a little later, and report a failure.
class ShutdownDeadline {
 public:
  explicit ShutdownDeadline(std::chrono::milliseconds time);
  ~ShutdownDeadline();
  ShutdownDeadline(const ShutdownDeadline&) = delete;
  ShutdownDeadline& operator=(const ShutdownDeadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable_any over_;
  std::jthread thread_;
};

}  // namespace octavo::server
