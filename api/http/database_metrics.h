#pragma once

#include "api/http/metrics.h"
#include "partitioning/engine.h"

namespace octavo::api {

/// Limit of databases in metrics: those with the largest charge since they were opened are included.
inline constexpr std::size_t databases_measured_max = 50;

/// Adds the consumption of open databases by physical partition: `octavo_database_request_units_total`, and for
/// databases with throughput `octavo_database_requests_refused_total` and `octavo_database_throughput_used_ratio`. Adds
/// how near partitions are to their limits: `octavo_partitions_near_limit` and `octavo_partition_limit_used_ratio`.
/// `engine` must outlive the collector.
HttpMetrics::Collector database_metrics(partitioning::Engine& engine);

}  // namespace octavo::api
