#pragma once

#include <cstdint>
#include <string>

#include "bench/cases.h"
#include "bench/load.h"

namespace octavo::bench {

/// run_load for the run's duration. Throws std::runtime_error when a reply has another status.
LoadResult measure_load(Run& run, std::uint16_t port, unsigned connections, int status, const RequestSource& source);

/// Rate and latencies as a row of the report.
Row row_of(std::string name, const LoadResult& result);

/// The better of two runs, by requests per second: what the machine's other work did not spoil.
LoadResult better(LoadResult left, LoadResult right);

}  // namespace octavo::bench
