#pragma once

#include "api/http/metrics.h"
#include "partitioning/engine.h"

namespace octavo::api {

/// Databases shown at most: those that have spent most since they were opened.
inline constexpr std::size_t databases_measured_max = 50;

/// Adds what the databases that are open spend: `octavo_database_request_units_total` and
/// `octavo_database_requests_refused_total` by database and physical partition, and where throughput is set
/// `octavo_database_throughput_used_ratio`. `engine` outlives the collector.
HttpMetrics::Collector database_metrics(partitioning::Engine& engine);

}  // namespace octavo::api
