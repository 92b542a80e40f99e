#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/assert.h"
#include "base/memory_retry.h"
#include "base/task.h"

namespace octavo {

/// The sending side of await_completion: passes the result, or an exception, to the waiting coroutine. Must be called
/// exactly once, from any thread; never throws. Cheap to copy.
template <class Result>
class Completion {
 public:
  struct State {
    explicit State(const IoExecutor& on) : executor(on), work(boost::asio::make_work_guard(on)) {}
    IoExecutor executor;
    boost::asio::executor_work_guard<IoExecutor> work;
    std::move_only_function<void(std::exception_ptr, std::optional<Result>)> resume;
    std::exception_ptr thrown;
    std::optional<Result> result;
  };
  explicit Completion(std::shared_ptr<State> state) : state_(std::move(state)) {}

  void operator()(Result result) const noexcept {
    OCTAVO_ASSERT(state_->resume && !state_->result && !state_->thrown);
    state_->result.emplace(std::move(result));
    post();
  }
  void fail(std::exception_ptr thrown) const noexcept {
    OCTAVO_ASSERT(state_->resume && !state_->result && !state_->thrown);
    state_->thrown = std::move(thrown);
    post();
  }

 private:
  // Resuming needs a little memory, and nothing else will ever resume this coroutine.
  void post() const {
    until_memory_suffices([this] {
      boost::asio::post(state_->executor, [state = state_] {
        auto resume = std::move(state->resume);
        resume(std::move(state->thrown), std::move(state->result));
      });
    });
  }
  std::shared_ptr<State> state_;
};

/// Awaits one result from another thread; resumes on the caller's executor. `start` is given the Completion; if `start`
/// throws, the Completion must not have been called, and must never be called.
template <class Result, class Start>
Task<Result> await_completion(Start start) {
  using State = typename Completion<Result>::State;
  using Token = boost::asio::use_awaitable_t<IoExecutor>;
  auto state = std::make_shared<State>(co_await boost::asio::this_coro::executor);
  auto initiate = [&state, &start](auto handler) {
    // The coroutine is suspended by now, so an exception must be passed through it, not thrown past it.
    using Handler = decltype(handler);
    until_memory_suffices([&] {
      state->resume = [held = std::make_unique<Handler>(std::move(handler))](std::exception_ptr thrown,
                                                                             std::optional<Result> result) mutable {
        (*held)(std::move(thrown), std::move(result));
      };
    });
    const Completion<Result> completion(std::move(state));
    try {
      start(completion);
    } catch (...) {
      completion.fail(std::current_exception());
    }
  };
  auto result = co_await boost::asio::async_initiate<const Token, void(std::exception_ptr, std::optional<Result>)>(
      std::move(initiate), use_task);
  co_return *std::move(result);
}

}  // namespace octavo
