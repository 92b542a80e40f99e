#include "api/http/storage_metrics.h"

#include <filesystem>
#include <limits>
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

prometheus::MetricFamily commit_durations(const storage::CommitTotals& totals) {
  prometheus::ClientMetric metric;
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i < totals.by_duration.size(); ++i) {
    cumulative += totals.by_duration[i];
    const double bound = i < totals.bounds.size() ? std::chrono::duration<double>(totals.bounds[i]).count()
                                                  : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({cumulative, bound});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = std::chrono::duration<double>(totals.duration).count();
  return {"octavo_commit_duration_seconds",
          "Time that a commit of one or more requests took, until they were durable.",
          prometheus::MetricType::Histogram,
          {std::move(metric)}};
}

}  // namespace

HttpMetrics::Collector storage_metrics(partitioning::Engine& engine) {
  return [&engine](std::vector<prometheus::MetricFamily>& families) {
    using prometheus::MetricType;
    const auto commits = engine.writers().commit_totals();
    families.push_back(commit_durations(commits));
    families.push_back(single("octavo_committed_requests_total",
                              "Requests that were committed; several of one physical partition share a commit.",
                              MetricType::Counter, commits.requests));
    families.push_back(single("octavo_write_queue_bytes", "Bytes of the requests that wait to be committed.",
                              MetricType::Gauge, engine.writers().queued_bytes()));
    families.push_back(
        single("octavo_databases", "Databases and containers.", MetricType::Gauge, engine.databases().count()));
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
