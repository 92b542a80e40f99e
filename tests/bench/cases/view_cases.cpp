#include "bench/cases/view_cases.h"

#include <stdexcept>
#include <thread>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "bench/http_client.h"
#include "bench/load.h"

namespace octavo::bench {

namespace {

using Clock = std::chrono::steady_clock;

/// Ten years of days, by the documents' numbers; `rows` rows for each document.
std::string sales_map(unsigned rows) {
  return fmt::format(
      "function(doc) {{ for (var i = 0; i < {}; ++i) {{ var day = (doc.number * 7 + i * 13) % 3650; "
      "emit([2010 + (day / 365 | 0), (day % 365) / 31 | 0, day % 31], doc.price); }} }}",
      rows);
}

/// Indexes the fields that documents have.
constexpr std::string_view index_function =
    "function(doc) { index('default', doc.text); index('kind', doc.kind, {facet: true}); "
    "index('price', doc.price, {store: true}); }";

/// A design document of the run's database with one view `v`, or more of the same kind, or a search index.
std::string design_of(unsigned rows, unsigned views = 1, bool searched = false) {
  boost::json::object sources;
  for (unsigned i = 0; i < views; ++i) {
    sources[i == 0 ? std::string("v") : fmt::format("v{}", i)] =
        boost::json::object{{"map", sales_map(rows) + std::string(i, ' ')}, {"reduce", "_sum"}};
  }
  boost::json::object design{{"options", boost::json::object{{"partitioned", false}}}, {"views", std::move(sources)}};
  if (searched) design["indexes"] = {{"all", {{"index", index_function}}}};
  return boost::json::serialize(design);
}

std::uint64_t pending(HttpClient& client, const std::string& design) {
  const auto info = boost::json::parse(client.expect(200, "GET", design + "/_info").body);
  return info.at("view_index").at("updates_pending").at("total").to_number<std::uint64_t>();
}

void wait_until_built(HttpClient& client, const std::string& design) {
  const auto begin = Clock::now();
  while (pending(client, design) > 0) {
    if (Clock::now() - begin > std::chrono::hours(2)) throw std::runtime_error(design + " is never built");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

void build_view(Run& run, std::string_view name, unsigned rows, std::string title) {
  HttpClient client(run.server->port());
  const auto design = fmt::format("/{}/_design/{}", run.data.database, name);
  const auto begin = Clock::now();
  if (client.request("PUT", design, design_of(rows)).status != 201) return;  // a reused folder has it
  wait_until_built(client, design);
  const auto seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const auto info = boost::json::parse(client.expect(200, "GET", "/" + run.data.database).body);
  const auto documents = info.at("doc_count").to_number<double>();
  Row row;
  row.name = std::move(title);
  row.result = documents / seconds;
  row.unit = "docs/s";
  row.note = fmt::format("{:.0f} rows in {:.1f} s", documents * rows, seconds);
  run.report.add(row);
}

/// Median and p99 of one query after the other.
Row measure_query(Run& run, const std::string& target, std::string name) {
  LoadOptions options;
  options.port = run.server->port();
  options.connections = 1;
  options.duration = run.options.duration;
  const auto result = run_load(options, [&](std::string& out, std::uint64_t) { append_request(out, "GET", target); });
  if (result.errors != 0) throw std::runtime_error(result.first_error);
  Row row;
  row.name = std::move(name);
  row.result = result.per_second();
  row.p50_ms = result.latencies.quantile_ms(0.5);
  row.p99_ms = result.latencies.quantile_ms(0.99);
  return row;
}

struct Query {
  std::string_view name;
  std::string_view parameters;
};
constexpr Query timed_queries[] = {
    {"grand total", ""},
    {"group_level=1, 10 groups", "?group_level=1"},
    {"group_level=2, 120 groups", "?group_level=2"},
    {"a range of three years", "?startkey=%5B2012,3%5D&endkey=%5B2015,7%5D"},
};

std::string target_of(const Run& run, std::string_view design, const Query& query) {
  return fmt::format("/{}/_design/{}/_view/v{}", run.data.database, design, query.parameters);
}

}  // namespace

void view_queries(Run& run) {
  build_view(run, "sales", 1, "build of a view with _sum, one row for each document");
  for (const auto& query : timed_queries) {
    run.report.add(measure_query(run, target_of(run, "sales", query), fmt::format("_view: {}", query.name)));
  }
}

void large_view(Run& run) {
  constexpr unsigned rows_per_document = 100;
  build_view(run, "large", rows_per_document, "build of a view with _sum, 100 rows for each document");
  for (const auto& query : timed_queries) {
    auto row =
        measure_query(run, target_of(run, "large", query), fmt::format("_view of 100 × the rows: {}", query.name));
    row.limit = measure_query(run, target_of(run, "sales", query), {}).result;
    row.limit_name = "the view with one row for each document";
    run.report.add_with_ratio_goal(row, 0.5);
  }
}

void view_writes(Run& run) {
  HttpClient client(run.server->port());
  struct Followed {
    unsigned views;
    bool searched;
  };
  for (const auto [views, searched] : {Followed{0, false}, {1, false}, {5, false}, {0, true}, {5, true}}) {
    const auto database = fmt::format("views{}{}-{}", views, searched ? "s" : "", ::getpid());
    client.expect(201, "PUT", "/" + database);
    client.expect(201, "PUT", fmt::format("/{}/_design/d", database), design_of(1, views, searched));
    const auto body = run.data.document(1, false);
    LoadOptions options;
    options.port = run.server->port();
    options.connections = 32;
    options.expected_status = 201;
    options.duration = run.options.duration;
    const auto result = run_load(options, [&](std::string& out, std::uint64_t index) {
      append_request(out, "PUT", fmt::format("/{}/d{}", database, index), body);
    });
    if (result.errors != 0) throw std::runtime_error(result.first_error);
    Row row;
    row.name = fmt::format("durable PUT, 32 connections, {} views{}", views, searched ? " and a search index" : "");
    row.result = result.per_second();
    row.unit = "docs/s";
    row.p50_ms = result.latencies.quantile_ms(0.5);
    row.p99_ms = result.latencies.quantile_ms(0.99);
    if (views > 0)
      row.note = fmt::format("{} changes behind at the end", pending(client, fmt::format("/{}/_design/d", database)));
    run.report.add(row);
    client.expect(200, "DELETE", "/" + database);
  }
}

}  // namespace octavo::bench
