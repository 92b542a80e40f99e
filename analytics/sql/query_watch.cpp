#include "analytics/sql/query_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

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

QueryWatch::QueryWatch(const duckdb::Connection& connection, const Channel& channel, TimeLimit limit,
                       std::function<bool()> is_too_large)
    : connection_(connection),
      channel_(channel),
      limit_(limit),
      deadline_(Clock::now() + limit.max),
      is_too_large_(std::move(is_too_large)),
      end_(::eventfd(0, EFD_CLOEXEC)),
      thread_([this] { watch(); }) {}

QueryWatch::~QueryWatch() {
  const std::uint64_t one = 1;
  while (::write(end_.get(), &one, sizeof one) < 0 && errno == EINTR) {
  }
  thread_.join();
}

Error QueryWatch::too_large() {
  return {ErrorCode::bad_request, "The file is larger than analytics.max_temp_size allows.", "memory_limit"};
}

Error QueryWatch::explain(Error error) const {
  if (timed_out_) {
    return {ErrorCode::timeout,
            fmt::format("The query took longer than {}, {} ms, and was stopped.", limit_.setting, limit_.max.count()),
            "query_timeout"};
  }
  if (was_too_large_) return too_large();
  if (error.word == "memory_limit" && error.code != ErrorCode::bad_request) {
    error.code = ErrorCode::bad_request;
    // What follows in DuckDB's text are settings that cannot be changed here.
    error.reason = error.reason.substr(0, error.reason.find('\n')) +
                   " The query needs more than analytics.memory_limit and analytics.max_temp_size allow.";
  } else if (error.code == ErrorCode::bad_request && error.word.empty()) {
    error.word = "invalid_sql";
  }
  return error;
}

void QueryWatch::watch() {
  bool is_stopping = false;
  while (true) {
    const auto until_deadline = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - Clock::now());
    const bool looks_often = static_cast<bool>(is_too_large_);
    // While it stops the deadline is over, or far away.
    const auto patience = is_stopping
                              ? interrupt_again
                              : std::clamp(until_deadline, milliseconds(0), looks_often ? interrupt_again : poll_max);
    std::array<pollfd, 2> states{{{.fd = end_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = channel_.descriptor(), .events = POLLRDHUP, .revents = 0}}};
    // Once it hangs up it always does.
    ::poll(states.data(), is_stopping ? 1 : 2, static_cast<int>(patience.count()));
    if ((states[0].revents & POLLIN) != 0) return;
    const auto over = Clock::now() - deadline_;
    if (over >= Clock::duration(0)) timed_out_.store(true, std::memory_order_relaxed);
    if (is_too_large_ && is_too_large_()) was_too_large_.store(true, std::memory_order_relaxed);
    is_stopping =
        is_stopping || timed_out_ || was_too_large_ || (states[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
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
