#pragma once

#include <chrono>
#include <type_traits>
#include <utility>

#include "api/http/request.h"
#include "partitioning/engine.h"

namespace octavo::api {

/// Runs one long request in slices on the engine's workers, so that other requests run in between. A request that has
/// used much worker time queues behind the others, and one whose client has left is ended. Used by one coroutine;
/// engine and request must outlive it.
class WorkerSlices {
 public:
  WorkerSlices(partitioning::Engine& engine, const Request& request) : engine_(engine), request_(request) {}

  /// For slices that may take long, because one document may: others do not queue behind them.
  void let_others_go_first() { slices_are_long_ = true; }

  /// Runs `slice`, which returns an Expected, on a worker, and resumes on the calling I/O thread. `runs_functions`: it
  /// runs user-defined functions (Workers::run_function). Errors: those of the slice; timeout when the client has left.
  template <class Slice>
  Task<std::invoke_result_t<Slice&>> run(Slice slice, bool runs_functions = false) {
    if (spent_ >= unwatched_time && request_.client_has_left()) {
      co_return fail(ErrorCode::timeout, "The client has left before the reply was complete.");
    }
    auto timed = [this, &slice] {
      const auto begun = std::chrono::steady_clock::now();
      auto result = slice();
      spent_ += std::chrono::steady_clock::now() - begun;
      return result;
    };
    if (runs_functions) {
      co_return co_await engine_.workers().run_function(std::move(timed));
    } else if (slices_are_long_) {
      co_return co_await engine_.workers().run_long(std::move(timed));
    } else if (spent_ < impatient_time) {
      co_return co_await engine_.workers().run_blocking(std::move(timed));
    } else {
      co_return co_await engine_.workers().run_patiently(std::move(timed));
    }
  }

 private:
  static constexpr std::chrono::milliseconds impatient_time{10};
  // A client that shuts down its sending side after the request still gets a reply that takes less than this.
  static constexpr std::chrono::milliseconds unwatched_time{500};

  partitioning::Engine& engine_;
  const Request& request_;
  std::chrono::steady_clock::duration spent_{};
  bool slices_are_long_ = false;
};

}  // namespace octavo::api
