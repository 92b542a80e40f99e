#include "api/http/database_metrics.h"

#include <algorithm>

#include <prometheus/metric_family.h>

namespace octavo::api {

namespace {

using partitioning::Consumption;
using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

struct Measured {
  std::shared_ptr<partitioning::Database> database;
  std::vector<std::pair<std::size_t, Consumption::Report>> partitions;  ///< by partition id
  double total = 0;
};

std::vector<Measured> measure(const partitioning::Engine& engine) {
  std::vector<Measured> all;
  for (auto& database : engine.databases().open_databases()) {
    Measured measured;
    for (const std::size_t partition_id : database->partition_ids()) {
      measured.partitions.emplace_back(partition_id, database->meter().report(partition_id, 0));
      measured.total += measured.partitions.back().second.total;
    }
    if (measured.total == 0) continue;
    measured.database = std::move(database);
    all.push_back(std::move(measured));
  }
  const auto shown = static_cast<std::ptrdiff_t>(std::min(all.size(), databases_measured_max));
  std::ranges::partial_sort(all, all.begin() + shown, std::ranges::greater{}, &Measured::total);
  all.resize(static_cast<std::size_t>(shown));
  return all;
}

ClientMetric labelled(const Measured& of, std::size_t partition_id) {
  ClientMetric metric;
  metric.label = {{"database", of.database->name()}, {"partition", std::to_string(partition_id)}};
  return metric;
}

}  // namespace

HttpMetrics::Collector database_metrics(partitioning::Engine& engine) {
  return [&engine](std::vector<MetricFamily>& families) {
    MetricFamily spent{"octavo_database_request_units_total",
                       "Request units spent since the database was opened.",
                       MetricType::Counter,
                       {}};
    MetricFamily refused{"octavo_database_requests_refused_total",
                         "Requests refused (429) since the database was opened.",
                         MetricType::Counter,
                         {}};
    MetricFamily used{"octavo_database_throughput_used_ratio",
                      "Share of a physical partition's throughput that the last second spent.",
                      MetricType::Gauge,
                      {}};
    for (const auto& measured : measure(engine)) {
      const auto budget = measured.database->meter().budget();
      for (const auto& [partition_id, report] : measured.partitions) {
        spent.metric.push_back(labelled(measured, partition_id));
        spent.metric.back().counter.value = report.total;
        if (!budget || budget->rate() == 0) continue;
        refused.metric.push_back(labelled(measured, partition_id));
        refused.metric.back().counter.value = static_cast<double>(report.refused);
        used.metric.push_back(labelled(measured, partition_id));
        used.metric.back().gauge.value =
            report.last_second * static_cast<double>(budget->shares()) / static_cast<double>(budget->rate());
      }
    }
    families.push_back(std::move(spent));
    families.push_back(std::move(refused));
    families.push_back(std::move(used));
  };
}

}  // namespace octavo::api
