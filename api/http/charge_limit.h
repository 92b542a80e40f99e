#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

#include "api/http/request.h"
#include "partitioning/scan.h"
#include "partitioning/throughput/request_charge.h"

/// `X-Max-Request-Charge: 100`: a query ends its page once this charge is reached, with or without results. The client
/// continues with the bookmark or continuation. An extension of both APIs.
namespace octavo::api {

/// The charge that the request allows; nullopt: unlimited. Errors: bad_request unless it is a number above zero.
Expected<std::optional<partitioning::RequestUnits>> max_request_charge(const Request& request);

/// The error of a query that cannot be continued because it must read everything before its first result.
std::unexpected<Error> charge_exceeded(partitioning::RequestUnits most);

/// Runs one slice of `execution` (FindExecution, SqlExecution), which must allow stop(). `charge()`: its charge so far.
/// If the charge reaches `most`, sets `stopped` and returns `done`. The charge exceeds `most` by some rows at most, and
/// the execution advances by at least one document. Errors: those of the execution; charge_exceeded.
template <class Execution, class Charge>
Expected<partitioning::ScanState> run_within_charge(Execution& execution, partitioning::ScanBudget budget,
                                                    partitioning::RequestUnits most, Charge charge, bool& stopped) {
  constexpr std::size_t rows_between_looks = 16;
  for (std::size_t rows_left = budget.rows_max; rows_left > 0;) {
    const std::size_t rows = std::min(rows_left, rows_between_looks);
    OCTAVO_TRY(const auto state, execution.run({rows, budget.until}));
    if (state == partitioning::ScanState::done) return state;
    if (charge() >= most) {
      if (!execution.is_resumable()) return charge_exceeded(most);
      stopped = execution.stop();
      if (stopped) return partitioning::ScanState::done;
    }
    rows_left -= rows;
    const bool is_full = execution.output().size() >= partitioning::ScanBudget::output_bytes_max;
    if (is_full || std::chrono::steady_clock::now() >= budget.until) break;
  }
  return partitioning::ScanState::more;
}

}  // namespace octavo::api
