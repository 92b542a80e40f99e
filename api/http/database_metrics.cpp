#include "api/http/database_metrics.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <prometheus/metric_family.h>

#include "query/database/database_services.h"

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

void add_limit(const std::string& kind, const std::string& limit, const partitioning::LimitWatch::Count& count,
               MetricFamily& near, MetricFamily& largest) {
  const auto add = [&](MetricFamily& family, double value) -> ClientMetric& {
    ClientMetric metric;
    metric.label = {{"kind", kind}, {"limit", limit}};
    metric.gauge.value = value;
    return family.metric.emplace_back(std::move(metric));
  };
  for (std::size_t i = 0; i < count.at_least.size(); ++i) {
    const double share = partitioning::LimitWatch::counted_from[i];
    add(near, static_cast<double>(count.at_least[i])).label.push_back({"at_least", fmt::format("{}", share)});
  }
  add(largest, count.largest_share);
}

// Without the keys of logical partitions: they would be series without bound, and may be personal.
void add_limits(const partitioning::LimitWatch::Totals& totals, std::vector<MetricFamily>& families) {
  MetricFamily near{"octavo_partitions_near_limit",
                    "Partitions that use at least this part of a limit, in the databases that are open.",
                    MetricType::Gauge,
                    {}};
  MetricFamily largest{"octavo_partition_limit_used_ratio",
                       "The part of a limit that the partition which is nearest to it uses.",
                       MetricType::Gauge,
                       {}};
  add_limit("logical", "bytes", totals.logical_bytes, near, largest);
  add_limit("logical", "request_units", totals.logical_request_units, near, largest);
  add_limit("physical", "bytes", totals.physical_bytes, near, largest);
  add_limit("physical", "request_units", totals.physical_request_units, near, largest);
  families.push_back(std::move(near));
  families.push_back(std::move(largest));
}

void add_projections(const partitioning::Engine& engine, std::vector<MetricFamily>& families) {
  std::map<std::string, std::size_t, std::less<>> by_state;
  for (const std::string_view state : query::project::Projections::states) by_state.emplace(state, 0);
  double lag = 0;
  for (const auto& database : engine.databases().open_databases()) {
    auto* const services = query::services_of(*database);
    if (services == nullptr) continue;
    for (const auto& view : services->projections().views()) {
      ++by_state.at(std::string(view.state));
      lag = std::max(lag, view.status.lag_seconds);
    }
  }
  MetricFamily count{"octavo_projections", "Projections by state.", MetricType::Gauge, {}};
  for (const auto& [state, number] : by_state) {
    ClientMetric metric;
    metric.label = {{"state", state}};
    metric.gauge.value = static_cast<double>(number);
    count.metric.push_back(std::move(metric));
  }
  ClientMetric longest;
  longest.gauge.value = lag;
  families.push_back(std::move(count));
  families.push_back({"octavo_projection_lag_seconds",
                      "How long the rows of the projection that is furthest behind have not been current.",
                      MetricType::Gauge,
                      {longest}});
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
    add_limits(engine.limit_watch().totals(), families);
    add_projections(engine, families);
  };
}

}  // namespace octavo::api
