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

/// A thread that checks running calls periodically and interrupts those that take long (JS_RequestInterruptCallback). A
/// call therefore costs two atomic writes and does not read the clock. Sleeps while no call runs. One per process.
///
/// The time limit applies to the processor time of the call's thread: on a busy machine the elapsed time of a correct
/// function may be long, which must not stop the function and with it its index. The limit of elapsed time is ten times
/// as long, or the same for a call that a client waits for (ClockBound::strict). Calls of several clients take turns on
/// few threads, so their waiting times add up.
///
/// SpiderMonkey gives up a regular expression that has been interrupted a few times ("too much recursion"), so one
/// match may take about five ticks.
class Watchdog {
 public:
  static constexpr std::chrono::milliseconds tick{20};

  /// The limit of elapsed time, waiting included.
  enum class ClockBound : std::uint8_t {
    wide,   ///< ten times the limit of processor time
    strict  ///< the limit of processor time
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
      activity_.fetch_add(1, std::memory_order_seq_cst);  // before reading asleep_: run() does the two in reverse
      auto& watchdog = Watchdog::instance();
      if (watchdog.asleep_.load(std::memory_order_seq_cst)) [[unlikely]]
        watchdog.wake();
    }
    void end() { activity_.fetch_add(1, std::memory_order_release); }
    /// Begins the next of several calls that run as one, with its own time.
    void begin_next() { activity_.fetch_add(2, std::memory_order_release); }
    bool running() const { return (activity_.load(std::memory_order_relaxed) & 1U) != 0; }
    /// Whether the time of the running call is over.
    bool expired() const {
      return expired_.load(std::memory_order_relaxed) == activity_.load(std::memory_order_relaxed);
    }

   private:
    friend class Watchdog;

    JSContext* const context_;
    std::atomic<std::uint64_t> activity_{0};           ///< odd: a call runs
    std::atomic<std::uint64_t> expired_{0};            ///< the activity whose time is over
    std::atomic<ClockBound> bound_{ClockBound::wide};  ///< of the running call
    std::uint64_t seen_ = 0;                           ///< the watchdog's: the activity that it saw last
    std::uint64_t complained_ = 0;                     ///< the watchdog's: the activity that it has logged
    std::chrono::steady_clock::time_point since_{};
    const clockid_t thread_clock_;            ///< processor time of the thread
    std::chrono::nanoseconds used_before_{};  ///< the watchdog's: thread_clock_ when it first saw the running call
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

  std::mutex mutex_;  ///< guards watched_ and the watchdog's members in its elements
  std::condition_variable_any changed_;
  std::vector<Watched*> watched_;
  std::atomic<bool> asleep_{true};
  std::jthread thread_;
};

}  // namespace octavo::query::javascript
