#include "bench/measurement.h"

#include <stdexcept>

#include <fmt/format.h>

namespace octavo::bench {

LoadResult measure_load(Run& run, std::uint16_t port, unsigned connections, int status, const RequestSource& source) {
  LoadOptions options;
  options.port = port;
  options.connections = connections;
  options.expected_status = status;
  options.duration = run.options.duration;
  auto result = run_load(options, source);
  if (result.errors != 0) {
    throw std::runtime_error(
        fmt::format("{} replies without status {}: {}", result.errors, status, result.first_error));
  }
  return result;
}

Row row_of(std::string name, const LoadResult& result) {
  Row row;
  row.name = std::move(name);
  row.result = result.per_second();
  row.p50_ms = result.latencies.quantile_ms(0.5);
  row.p99_ms = result.latencies.quantile_ms(0.99);
  return row;
}

LoadResult better(LoadResult left, LoadResult right) {
  return left.per_second() >= right.per_second() ? std::move(left) : std::move(right);
}

void add_in_turn(Run& run, const Comparison& comparison, const Way& way, const Way& other) {
  const auto& [name, other_name, connections, status, ratio_goal] = comparison;
  LoadResult result, limit;
  for (unsigned round = 0; round < run.options.rounds; ++round) {
    limit = better(std::move(limit), measure_load(run, other.port, connections, status, other.source));
    result = better(std::move(result), measure_load(run, way.port, connections, status, way.source));
  }
  auto row = row_of(name, result);
  row.limit = limit.per_second();
  row.limit_name = other_name;
  run.report.add_with_ratio_goal(std::move(row), ratio_goal);
}

}  // namespace octavo::bench
