#include "query/javascript/internal/watchdog.h"

#include <algorithm>
#include <js/Interrupt.h>
#include <jsapi.h>
#include <pthread.h>

#include <spdlog/spdlog.h>

#include "base/machine/processor_time.h"
#include "query/javascript/limits.h"

namespace octavo::query::javascript {

namespace {

// A call that runs this much longer than its time is in code of SpiderMonkey that does not check for interrupts.
constexpr std::chrono::seconds overrun_patience{10};
constexpr int elapsed_to_used_max = 10;

clockid_t clock_of_this_thread() {
  clockid_t clock = CLOCK_MONOTONIC;  // stays so if threads have no clock
  pthread_getcpuclockid(pthread_self(), &clock);
  return clock;
}

}  // namespace

Watchdog::Watched::Watched(JSContext* context) : context_(context), thread_clock_(clock_of_this_thread()) {
  instance().add(this);
}

Watchdog::Watched::~Watched() {
  instance().remove(this);
}

Watchdog& Watchdog::instance() {
  static Watchdog watchdog;
  return watchdog;
}

Watchdog::~Watchdog() {
  thread_.request_stop();
  changed_.notify_all();
}

void Watchdog::add(Watched* watched) {
  const std::lock_guard lock(mutex_);
  watched_.push_back(watched);
  if (!thread_.joinable()) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void Watchdog::remove(Watched* watched) {
  const std::lock_guard lock(mutex_);
  std::erase(watched_, watched);
}

void Watchdog::wake() {
  const std::lock_guard lock(mutex_);
  asleep_.store(false, std::memory_order_seq_cst);
  changed_.notify_all();
}

// Checks all running calls. False: no call runs.
bool Watchdog::look(std::chrono::steady_clock::time_point now) {
  const auto time_max = limits().call_time;
  bool any = false;
  for (auto* watched : watched_) {
    const auto activity = watched->activity_.load(std::memory_order_seq_cst);
    if ((activity & 1U) == 0) continue;
    any = true;
    if (activity != watched->seen_) {
      watched->seen_ = activity;
      watched->since_ = now;
      watched->used_before_ = processor_time(watched->thread_clock_);
      continue;
    }
    const auto elapsed = now - watched->since_;
    const auto used = processor_time(watched->thread_clock_) - watched->used_before_;
    const bool strict = watched->bound_.load(std::memory_order_relaxed) == ClockBound::strict;
    const bool over = used >= time_max || elapsed >= (strict ? 1 : elapsed_to_used_max) * time_max;
    if (over) watched->expired_.store(activity, std::memory_order_relaxed);
    if (used >= time_max + overrun_patience && watched->complained_ != activity) {
      watched->complained_ = activity;
      spdlog::error("a design function still runs {} s after its time, in code of SpiderMonkey that ignores interrupts",
                    std::chrono::duration_cast<std::chrono::seconds>(overrun_patience).count());
    }
    JS_RequestInterruptCallback(watched->context_);
  }
  return any;
}

void Watchdog::run(const std::stop_token& stop) {
  constexpr int idle_ticks_max = 100;
  int idle_ticks = 0;
  std::unique_lock lock(mutex_);
  while (!stop.stop_requested()) {
    if (idle_ticks >= idle_ticks_max) {
      asleep_.store(true, std::memory_order_seq_cst);
      // A call that began without seeing asleep_ must be seen here, because it does not wake this thread.
      if (!look(std::chrono::steady_clock::now())) changed_.wait(lock, stop, [this] { return !asleep_.load(); });
      asleep_.store(false, std::memory_order_seq_cst);
      idle_ticks = 0;
      continue;
    }
    changed_.wait_for(lock, stop, tick, [] { return false; });
    idle_ticks = look(std::chrono::steady_clock::now()) ? 0 : idle_ticks + 1;
  }
}

}  // namespace octavo::query::javascript
