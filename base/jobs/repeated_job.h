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

/// Runs a job on a thread pool repeatedly, with the pause that each run returns. Never runs twice at once. Thread-safe;
/// no thread is used during a pause, and stop() does not wait for its end.
class RepeatedJob {
 public:
  using Milliseconds = std::chrono::milliseconds;
  /// nullopt: stop repeating until start() is called.
  using Job = std::function<std::optional<Milliseconds>()>;

  RepeatedJob(boost::asio::thread_pool& pool, Job job);
  ~RepeatedJob() { stop(); }

  /// Starts repeating. Does nothing if it repeats already, but cancels a stop that the running job is about to return.
  void start(Milliseconds delay);
  /// Ends the pause: the job runs now, or again if it is running. Does nothing before start().
  void run_now();
  /// Afterwards the job neither runs nor will run. Idempotent.
  void stop();

 private:
  /// The timer's state, which may outlive the owner for a moment.
  struct Alarm {
    explicit Alarm(boost::asio::thread_pool& pool) : timer(pool.get_executor()) {}
    std::mutex mutex;
    boost::asio::steady_timer timer;
    RepeatedJob* owner = nullptr;  ///< null: stopped
    bool goes_on = false;
    bool running = false;     ///< or about to run
    bool hurried = false;     ///< must run again at once
    std::uint64_t waits = 0;  ///< number of waits begun: a wait that was replaced runs nothing
    std::optional<Milliseconds> started_again;
  };
  void run();
  static void set(const std::shared_ptr<Alarm>& alarm, Milliseconds delay);

  const Job job_;
  const std::shared_ptr<Alarm> alarm_;
  BackgroundJobs jobs_;  ///< last: stops before the members that its jobs use are destroyed
};

}  // namespace octavo
