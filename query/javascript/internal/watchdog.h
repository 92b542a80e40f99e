#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

struct JSContext;

namespace octavo::query::javascript {

/// Looks at running calls now and then and asks those that take long to report (JS_RequestInterruptCallback):
/// so a call costs two atomic writes and no look at the clock. Sleeps while nothing runs. One per process.
///
/// A call's time is the processor time of its thread: on a busy machine an honest function takes long by the clock, and
/// must not be stopped, nor its index with it. By the clock it has ten times as long; a call that a client waits for
/// has the same time by the clock (ClockBound::strict).
///
/// SpiderMonkey gives up a regular expression that has been interrupted a few times ("too much recursion"), so one
/// match may take about five ticks.
class Watchdog {
 public:
  static constexpr std::chrono::milliseconds kTick{20};

  /// How long a call may take by the clock, waiting included.
  enum class ClockBound : std::uint8_t {
    wide,   ///< ten times its processor time
    strict  ///< its processor time
  };

  /// A thread that runs calls. Registered for its lifetime.
  class Watched {
   public:
    explicit Watched(JSContext* context);
    ~Watched();
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    void begin(ClockBound bound) {
      bound_.store(bound, std::memory_order_relaxed);
      activity_.fetch_add(1, std::memory_order_seq_cst);  // before the look at asleep_, which pairs with the watchdog's
      auto& watchdog = Watchdog::instance();
      if (watchdog.asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
        watchdog.wake();
    }
    void end() { activity_.fetch_add(1, std::memory_order_release); }
    /// The next of several calls that run as one: its time starts anew.
    void begin_next() { activity_.fetch_add(2, std::memory_order_release); }
    bool running() const { return (activity_.load(std::memory_order_relaxed) & 1U) != 0; }
    /// Whether the running call has had its time.
    bool expired() const {
      return expired_.load(std::memory_order_relaxed) == activity_.load(std::memory_order_relaxed);
    }

   private:
    friend class Watchdog;

    JSContext* const context_;
    std::atomic<std::uint64_t> activity_{0};           ///< odd: a call runs
    std::atomic<std::uint64_t> expired_{0};            ///< the activity whose time is over
    std::atomic<ClockBound> bound_{ClockBound::wide};  ///< of the running call
    std::uint64_t seen_ = 0;                           ///< the watchdog's
    std::uint64_t complained_ = 0;                     ///< the watchdog's: the activity it has logged
    std::chrono::steady_clock::time_point since_{};
    const clockid_t thread_clock_;            ///< processor time of the thread
    std::chrono::nanoseconds used_before_{};  ///< the watchdog's: on that clock, when it first saw the running call
  };

 private:
  static Watchdog& instance();
  Watchdog() = default;
  ~Watchdog();
  void add(Watched* watched);
  void remove(Watched* watched);
  void wake();
  void run(const std::stop_token& stop);
  bool look(std::chrono::steady_clock::time_point now);

  std::mutex mutex_;  ///< guards watched_ and what the watchdog keeps in its members
  std::condition_variable_any changed_;
  std::vector<Watched*> watched_;
  std::atomic<bool> asleep_{true};
  std::jthread thread_;
};

}  // namespace octavo::query::javascript
