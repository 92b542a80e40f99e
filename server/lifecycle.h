#pragma once

#include <chrono>
#include <condition_variable>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>

namespace octavo::server {

/// The process's end, as the system asks for it: SIGTERM (service managers, containers) and SIGINT (Ctrl-C); and
/// SIGHUP, which asks to read the configuration again.
///
/// Make one in main() before any thread starts: threads inherit the blocked signals, so that only wait() gets them.
/// Also ignores SIGPIPE: a log reader that goes away must not end the server.
class ShutdownSignal {
 public:
  ShutdownSignal();
  ShutdownSignal(const ShutdownSignal&) = delete;
  ShutdownSignal& operator=(const ShutdownSignal&) = delete;

  /// Blocks until the first signal that ends the process and returns its number; calls `reload` at each SIGHUP
  /// before. From then on a second one ends the process at once, with exit code 1: everything acknowledged is on disk
  /// already.
  int wait(const std::function<void()>& reload);

 private:
  sigset_t signals_{};
};

/// The last resort of an orderly end: ends the process at once, with exit code 0, unless it is gone by then. As with a
/// second signal nothing acknowledged is lost; a supervisor would do the same a little later, and call it a failure.
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
