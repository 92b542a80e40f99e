#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/jobs/background_jobs.h"

namespace octavo {

/// A job that runs on a thread pool again and again, with the pause that it asks for each time. Never runs twice at
/// once. Thread-safe; while it pauses it holds no thread, and stop() does not wait for the pause.
class RepeatedJob {
 public:
  using Milliseconds = std::chrono::milliseconds;
  /// nullopt: not again, until start() is called.
  using Job = std::function<std::optional<Milliseconds>()>;

  RepeatedJob(boost::asio::thread_pool& pool, Job job);
  ~RepeatedJob() { stop(); }

  /// Does nothing while the job goes on; but if it was about to end, it does not.
  void start(Milliseconds delay);
  /// Ends the pause: the job runs now, or once more if it is running. Does nothing before start().
  void run_now();
  /// Afterwards it neither runs nor will. Idempotent.
  void stop();

 private:
  /// The clock's end of it, which may outlive the owner by a moment.
  struct Alarm {
    explicit Alarm(boost::asio::thread_pool& pool) : timer(pool.get_executor()) {}
    std::mutex mutex;
    boost::asio::steady_timer timer;
    RepeatedJob* owner = nullptr;  ///< null: stopped
    bool goes_on = false;
    bool running = false;     ///< or about to
    bool hurried = false;     ///< to run once more at once
    std::uint64_t waits = 0;  ///< begun: a wait that another one has replaced runs nothing
    std::optional<Milliseconds> started_again;
  };
  void run();
  static void set(const std::shared_ptr<Alarm>& alarm, Milliseconds delay);

  const Job job_;
  const std::shared_ptr<Alarm> alarm_;
  BackgroundJobs jobs_;  ///< last: ends before all that its jobs use
};

}  // namespace octavo
