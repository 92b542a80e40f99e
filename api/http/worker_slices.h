#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include "api/http/request.h"
#include "partitioning/engine.h"

namespace octavo::api {

/// The slices of one long request, on the engine's workers. Other requests get their turn between slices: a request
/// that has had much of the workers' time goes on behind the others, and one whose client has left ends. Used by one
/// coroutine; engine and request outlive it.
class WorkerSlices {
 public:
  WorkerSlices(partitioning::Engine& engine, const Request& request) : engine_(engine), request_(request) {}

  /// From the first slice on, others go first: one slice may take long.
  void let_others_go_first() { spent_ = kImpatientTime; }

  /// Runs `slice`, which gives an Expected, on a worker, and resumes on the calling I/O thread. `runs_functions`: it
  /// runs functions that people wrote (Engine::run_function). Error, beside the slice's: timeout when nobody waits for
  /// the reply any more.
  template <class Slice>
  Task<std::invoke_result_t<Slice&>> run(Slice slice, bool runs_functions = false) {
    if (spent_ >= kUnwatchedTime && request_.client_has_left()) {
      co_return fail(ErrorCode::timeout, "The client has left before the reply was complete.");
    }
    auto timed = [this, &slice] {
      const auto begun = std::chrono::steady_clock::now();
      auto result = slice();
      spent_ += std::chrono::steady_clock::now() - begun;
      return result;
    };
    if (runs_functions) {
      co_return co_await engine_.run_function(std::move(timed));
    } else if (spent_ < kImpatientTime) {
      co_return co_await engine_.run_blocking(std::move(timed));
    } else {
      co_return co_await engine_.run_patiently(std::move(timed));
    }
  }

 private:
  static constexpr std::chrono::milliseconds kImpatientTime{10};
  // Whoever asks and shuts down its sending side gets the reply, if it does not take long.
  static constexpr std::chrono::milliseconds kUnwatchedTime{500};

  partitioning::Engine& engine_;
  const Request& request_;
  std::chrono::steady_clock::duration spent_{};
};

}  // namespace octavo::api
