#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

#include "api/couch/call/call.h"
#include "api/http/worker_slices.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// The pace of an advisor: it reads at most documents_per_second, and lets writes that are queued go first for a while.
class AdvisorPace {
 public:
  static constexpr std::uint64_t documents_per_second = 100'000;

  /// Short, as its work is never urgent: requests meet it on a processor.
  static partitioning::ScanBudget slice() {
    return {2'048, partitioning::ScanBudget::Clock::now() + std::chrono::milliseconds{2}};
  }

  explicit AdvisorPace(partitioning::Database& database) : database_(database) {}

  /// Waits until the next slice may begin, when `documents` have been read in all.
  Task<void> wait(std::uint64_t documents);

 private:
  using Clock = std::chrono::steady_clock;

  bool has_queued_writes() const;
  Task<bool> wait_until(Clock::time_point time) {
    return database_.wait_for_change(std::numeric_limits<storage::Sequence>::max(), time);
  }

  partitioning::Database& database_;
  const Clock::time_point begun_ = Clock::now();
};

/// Runs all slices of the advisor's scan, at its pace, on workers.
template <class Advisor>
Task<Expected<void>> scan_documents(WorkerSlices& slices, partitioning::Database& database, Advisor& advisor) {
  AdvisorPace pace(database);
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more) {
    const auto slice = [&] { return advisor.run_slice(AdvisorPace::slice()); };
    OCTAVO_CO_TRY(state, co_await slices.run(slice));
    if (state == partitioning::ScanState::more) co_await pace.wait(advisor.documents_read());
  }
  co_return Expected<void>{};
}

}  // namespace octavo::api::couch
