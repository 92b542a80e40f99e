#include "analytics/worker/query_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace octavo::analytics {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// An interruption that comes before DuckDB begins a step of the query has no effect: it is sent again and again.
constexpr std::chrono::milliseconds interrupt_again{50};
// The client gets no more: what waits for it to read must end.
constexpr std::chrono::milliseconds channel_grace{2'000};
// On a busy machine a query stops late, because the process has the lowest priority.
constexpr std::chrono::milliseconds process_grace{15'000};
constexpr int stuck_exit_code = 3;
constexpr milliseconds poll_max = std::chrono::hours(1);

}  // namespace

QueryWatch::QueryWatch(const duckdb::Connection& connection, const Channel& channel, std::chrono::milliseconds time_max,
                       std::function<bool()> is_too_large)
    : connection_(connection),
      channel_(channel),
      deadline_(Clock::now() + time_max),
      is_too_large_(std::move(is_too_large)),
      end_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { watch(); }) {}

QueryWatch::~QueryWatch() {
  const std::uint64_t one = 1;
  while (::write(end_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

void QueryWatch::watch() {
  bool is_stopping = false;
  while (true) {
    const auto until_deadline = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    const bool looks_often = static_cast<bool>(is_too_large_);
    // While it stops the deadline is over, or far away.
    const auto patience = is_stopping ? interrupt_again
                                      : std::clamp(until_deadline, milliseconds(0), looks_often ? interrupt_again : poll_max);
    std::array<pollfd, 2> states{{{.fd = end_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = channel_.descriptor(), .events = POLLRDHUP, .revents = 0}}};
    // Once it hangs up it always does.
    ::poll(states.data(), is_stopping ? 1 : 2, static_cast<int>(patience.count()));
    if ((states[0].revents & POLLIN) != 0) return;
    const auto over = Clock::now() - deadline_;
    if (over >= Clock::duration(0)) timed_out_.store(true, std::memory_order_relaxed);
    if (is_too_large_ && is_too_large_()) was_too_large_.store(true, std::memory_order_relaxed);
    is_stopping = is_stopping || timed_out() || was_too_large() || (states[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    if (!is_stopping) continue;
    connection_.interrupt();
    if (over > channel_grace) channel_.shut_down();
    if (over > process_grace) {
      static_cast<void>(std::fputs("octavo analytics: a query does not stop: the process ends\n", stderr));
      ::_exit(stuck_exit_code);
    }
  }
}

}  // namespace octavo::analytics
