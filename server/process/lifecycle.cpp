#include "server/process/lifecycle.h"

#include <cstdlib>
#include <pthread.h>
#include <thread>
#include <utility>

#include "server/process/logging.h"

namespace octavo::server {

ShutdownSignal::ShutdownSignal() {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  // A write beyond RLIMIT_FSIZE fails with EFBIG instead, as on a full disk.
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int ShutdownSignal::wait(const std::function<void()>& reload) {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0 || signal == SIGHUP) {
    if (std::exchange(signal, 0) == SIGHUP) reload();
  }
  std::thread([signals = signals_] {
    int second = 0;
    while (sigwait(&signals, &second) != 0 || second == SIGHUP) {
    }
    write_last_words("octavo: second signal: exiting at once\n");
    std::_Exit(1);
  }).detach();
  return signal;
}

ShutdownDeadline::ShutdownDeadline(std::chrono::milliseconds time) {
  thread_ = std::jthread([this, time](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    over_.wait_for(lock, stop, time, [] { return false; });
    if (stop.stop_requested()) return;
    write_last_words("octavo: something does not come to its end: ending without it\n");
    std::_Exit(0);
  });
}

ShutdownDeadline::~ShutdownDeadline() {
  thread_.request_stop();
}

}  // namespace octavo::server
