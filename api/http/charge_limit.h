#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/http/request.h"
#include "partitioning/request_charge.h"
#include "partitioning/scan.h"

/// `X-Max-Request-Charge: 100`: a query ends its page when it has cost so much, with or without results, and goes on by
/// its bookmark or continuation. An extension of both dialects.
namespace octavo::api {

/// What the request allows; nullopt: as much as it takes. Errors: bad_request for what is no number above zero.
Expected<std::optional<partitioning::RequestUnits>> max_request_charge(const Request& request);

/// A query that has to see everything before it has its first result cannot go on later.
std::unexpected<Error> charge_exceeded(partitioning::RequestUnits most);

/// One slice of `execution` (FindExecution, SqlExecution), which was made to be stopped. `charge()`: what it has cost.
/// `stopped` is set when it was ended by that; then `done` is returned. It costs at most some rows more than allowed,
/// and gets at least one document further. Errors: those of the execution; charge_exceeded.
template <class Execution, class Charge>
Expected<partitioning::ScanState> run_within_charge(Execution& execution, partitioning::ScanBudget budget,
                                                    partitioning::RequestUnits most, Charge charge, bool& stopped) {
  constexpr std::size_t kRowsBetweenLooks = 16;
  constexpr std::size_t kOutputBytesMax = 64 * 1024;
  for (std::size_t rows_left = budget.rows_max; rows_left > 0;) {
    const std::size_t rows = std::min(rows_left, kRowsBetweenLooks);
    OCTAVO_TRY(const auto state, execution.run({rows, budget.until}));
    if (state == partitioning::ScanState::done) return state;
    if (charge() >= most) {
      if (!execution.is_resumable()) return charge_exceeded(most);
      stopped = execution.stop();
      if (stopped) return partitioning::ScanState::done;
    }
    rows_left -= rows;
    if (execution.output().size() >= kOutputBytesMax || std::chrono::steady_clock::now() >= budget.until) break;
  }
  return partitioning::ScanState::more;
}

}  // namespace octavo::api
