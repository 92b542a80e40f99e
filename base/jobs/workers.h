#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>

#include <boost/asio/post.hpp>
#include <boost/asio/thread_pool.hpp>

#include "base/completion.h"
#include "base/jobs/work_lane.h"
#include "base/task.h"

namespace octavo {

/// Runs a blocking function on another thread, to which `post` passes a task, and resumes on the calling I/O thread
/// with the function's result or exception.
template <class Poster, class Function>
Task<std::invoke_result_t<Function&>> run_on(Poster post, Function function) {
  using Value = std::invoke_result_t<Function&>;
  using Result = std::conditional_t<std::is_void_v<Value>, std::monostate, Value>;
  auto result = co_await await_completion<Result>([&](const Completion<Result>& done) {
    auto call = std::make_shared<Function>(std::move(function));
    post([call = std::move(call), done] {
      std::exception_ptr thrown;
      try {
        if constexpr (std::is_void_v<Value>) {
          (*call)();
          done({});
        } else {
          done((*call)());
        }
      } catch (...) {
        thrown = std::current_exception();
      }
      if (thrown) done.fail(std::move(thrown));
    });
  });
  if constexpr (!std::is_void_v<Value>) co_return std::move(result);
}

/// The threads that do what would hold up an I/O thread. Thread-safe.
class Workers {
 public:
  explicit Workers(std::size_t threads)
      : patient_(pool_, threads),
        long_tasks_(pool_, threads),
        functions_(pool_, std::max<std::size_t>(2, threads) - 1),
        pool_(thread_count(threads)) {}

  /// Threads of `Workers(threads)`: one more than long tasks may use, so that shorter ones find a thread.
  static constexpr std::size_t thread_count(std::size_t threads) { return threads + 1; }

  /// Runs a blocking function on a worker thread and resumes on the calling I/O thread with its result or exception.
  template <class Function>
  Task<std::invoke_result_t<Function&>> run_blocking(Function function) {
    co_return co_await run_on([this](auto task) { boost::asio::post(pool_, std::move(task)); }, std::move(function));
  }
  /// Like run_blocking, but runs after all tasks of run_blocking: for work that has run long already, or that comes in
  /// floods. A task should end or pause after some 10 ms.
  template <class Function>
  Task<std::invoke_result_t<Function&>> run_patiently(Function function) {
    co_return co_await run_on([this](auto task) { patient_.post(std::move(task)); }, std::move(function));
  }
  /// Like run_patiently, for tasks that may run for seconds. Patient tasks do not wait for them: the two have queues of
  /// their own.
  template <class Function>
  Task<std::invoke_result_t<Function&>> run_long(Function function) {
    co_return co_await run_on([this](auto task) { long_tasks_.post(std::move(task)); }, std::move(function));
  }
  /// Like run_long, for users' functions: they may run for seconds, so one worker is always kept free of them (if
  /// there are two).
  template <class Function>
  Task<std::invoke_result_t<Function&>> run_function(Function function) {
    co_return co_await run_on([this](auto task) { functions_.post(std::move(task)); }, std::move(function));
  }

  /// For tasks in the background.
  boost::asio::thread_pool& pool() { return pool_; }
  /// Waits for the end of all tasks. Other threads may no longer post.
  void join() { pool_.join(); }

 private:
  WorkLane patient_;  ///< uses pool_, which is joined before it is destroyed
  WorkLane long_tasks_;
  WorkLane functions_;
  boost::asio::thread_pool pool_;
};

}  // namespace octavo
