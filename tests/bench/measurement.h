#pragma once

#include <cstdint>
#include <string>

#include "bench/cases/cases.h"
#include "bench/load.h"

namespace octavo::bench {

/// run_load for the run's duration. Throws std::runtime_error when a reply has another status.
LoadResult measure_load(Run& run, std::uint16_t port, unsigned connections, int status, const RequestSource& source);

/// Rate and latencies as a row of the report.
Row row_of(std::string name, const LoadResult& result);

/// The better of two runs, by requests per second: what the machine's other work did not spoil.
LoadResult better(LoadResult left, LoadResult right);

/// Two ways to the same end, and how much of the other's rate the first should have.
struct Comparison {
  std::string name;
  std::string other_name;
  unsigned connections = 32;
  int status = 200;
  double ratio_goal = 1;
};
struct Way {
  std::uint16_t port;
  const RequestSource& source;
};

/// Lets both take turns, round by round, and adds a row: `way` is its result, `other` its limit.
void add_in_turn(Run& run, const Comparison& comparison, const Way& way, const Way& other);

}  // namespace octavo::bench
