#pragma once

#include "api/http/metrics.h"
#include "partitioning/engine.h"

namespace octavo::api {

/// What commits take and wait for, what compactions have done, and how much they would return. `engine` must outlive
/// the metrics.
HttpMetrics::Collector storage_metrics(partitioning::Engine& engine);

}  // namespace octavo::api
