#include "api/http/storage_metrics.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <prometheus/metric_family.h>

namespace octavo::api {

namespace {

prometheus::MetricFamily single(std::string name, std::string help, prometheus::MetricType type, std::uint64_t value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter) {
    metric.counter.value = static_cast<double>(value);
  } else {
    metric.gauge.value = static_cast<double>(value);
  }
  return {std::move(name), std::move(help), type, {std::move(metric)}};
}

}  // namespace

HttpMetrics::Collector storage_metrics(partitioning::Engine& engine) {
  return [&engine](std::vector<prometheus::MetricFamily>& families) {
    using prometheus::MetricType;
    const auto totals = engine.compactions().totals();
    families.push_back(single("octavo_compactions_total", "Files of stores and search indexes that were compacted.",
                              MetricType::Counter, totals.completed));
    families.push_back(single("octavo_compactions_failed_total", "Compactions that were given up.", MetricType::Counter,
                              totals.failed));
    families.push_back(single("octavo_compaction_returned_bytes_total",
                              "Bytes by which compactions made files smaller.", MetricType::Counter,
                              totals.returned_bytes));
    families.push_back(
        single("octavo_compactions_waiting", "Compactions that run or wait now.", MetricType::Gauge, totals.waiting));
    families.push_back(single("octavo_storage_sparse_bytes",
                              "Bytes that compactions would return, as estimated when the files were looked at last.",
                              MetricType::Gauge, engine.automatic_compaction().sparse_bytes()));
    std::error_code error;
    const auto space = std::filesystem::space(engine.settings().data_dir, error);
    if (!error) {
      families.push_back(single("octavo_data_folder_free_bytes", "Free space of the file system with the data folder.",
                                MetricType::Gauge, space.available));
    }
  };
}

}  // namespace octavo::api
