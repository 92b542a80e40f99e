#include "server/lifecycle.h"

#include <cstdlib>
#include <pthread.h>
#include <thread>

#include <spdlog/spdlog.h>

namespace octavo::server {

ShutdownSignal::ShutdownSignal() {
  static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGTERM);
  sigaddset(&signals_, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
}

int ShutdownSignal::wait() {
  int signal = 0;
  while (sigwait(&signals_, &signal) != 0) {
  }
  std::thread([signals = signals_] {
    int second = 0;
    while (sigwait(&signals, &second) != 0) {
    }
    spdlog::warn("second signal: ending at once");
    std::_Exit(1);
  }).detach();
  return signal;
}

}  // namespace octavo::server
