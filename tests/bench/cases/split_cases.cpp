#include "bench/cases/split_cases.h"

#include <atomic>
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

/// Runs splits or merges; how long they took.
std::chrono::duration<double> move(HttpClient& client, const std::string& body) {
  const auto begun = Clock::now();
  const auto jobs = boost::json::parse(client.expect(201, "POST", "/_reshard/jobs", body).body);
  for (const auto& job : jobs.as_array()) {
    const std::string target = fmt::format("/_reshard/jobs/{}/state", job.at("id").as_string().c_str());
    while (true) {
      const auto state = boost::json::parse(client.expect(200, "GET", target).body);
      if (state.at("state") == "completed") break;
      if (state.at("state") == "failed") throw std::runtime_error("a move failed: " + boost::json::serialize(state));
      std::this_thread::sleep_for(std::chrono::milliseconds{5});
    }
  }
  return Clock::now() - begun;
}

/// Splits every physical partition of the database; how long it took.
std::chrono::duration<double> split_all(HttpClient& client, const std::string& database) {
  return move(client, fmt::format(R"({{"type":"split","db":"{}"}})", database));
}

/// Merges the two smallest neighbours.
std::chrono::duration<double> merge_two(HttpClient& client, const std::string& database) {
  return move(client, fmt::format(R"({{"type":"merge","db":"{}"}})", database));
}

/// Durable PUTs of new documents, one after the other, until told to stop.
class Writer {
 public:
  Writer(std::uint16_t port, std::string database, std::string name)
      : thread_([this, port, database = std::move(database), name = std::move(name)] {
          HttpClient client(port);
          for (int i = 0; !stop_; ++i) {
            const auto begun = Clock::now();
            client.expect(201, "PUT", fmt::format("/{}/{}{:02}:{}", database, name, i % 50, i), R"({"n":1})");
            latencies_.add(Clock::now() - begun);
          }
        }) {}
  Latencies finish() {
    stop_ = true;
    thread_.join();
    return std::move(latencies_);
  }

 private:
  std::atomic<bool> stop_ = false;
  Latencies latencies_;
  std::jthread thread_;
};

std::string quantiles(const Latencies& latencies) {
  return fmt::format("p50 {:.2f} ms, p99 {:.2f} ms, longest {:.1f} ms", latencies.quantile_ms(0.5),
                     latencies.quantile_ms(0.99), latencies.quantile_ms(1));
}

}  // namespace

void split(Run& run) {
  const std::uint16_t port = run.server->port();
  HttpClient client(port);
  const DataSet data{.database = fmt::format("bench-split-{}", ::getpid()), .count = run.data.count};
  data.fill(port, 1);

  Row alone;
  alone.name = fmt::format("split of a physical partition of {} documents", data.count);
  alone.result = static_cast<double>(data.count) / split_all(client, data.database).count();
  alone.unit = "docs/s";
  run.report.add(alone);

  Writer before(port, data.database, "before");
  std::this_thread::sleep_for(run.options.duration);
  const Latencies undisturbed = before.finish();
  Writer during(port, data.database, "during");
  const auto took = split_all(client, data.database);
  const Latencies disturbed = during.finish();

  Row beside;
  beside.name = "longest durable PUT while two are split into four";
  beside.result = disturbed.quantile_ms(1);
  beside.unit = "ms";
  beside.p50_ms = disturbed.quantile_ms(0.5);
  beside.p99_ms = disturbed.quantile_ms(0.99);
  beside.note =
      fmt::format("split in {:.1f} s; the same writer without a split: {}", took.count(), quantiles(undisturbed));
  run.report.add(beside);
  client.expect(200, "DELETE", "/" + data.database);
}

void merge(Run& run) {
  const std::uint16_t port = run.server->port();
  HttpClient client(port);
  const DataSet data{.database = fmt::format("bench-merge-{}", ::getpid()), .count = run.data.count};
  data.fill(port, 4);

  Row alone;
  alone.name = fmt::format("merge of two of four physical partitions of {} documents", data.count);
  alone.result = static_cast<double>(data.count) / 2 / merge_two(client, data.database).count();
  alone.unit = "docs/s";
  run.report.add(alone);

  Writer before(port, data.database, "before");
  std::this_thread::sleep_for(run.options.duration);
  const Latencies undisturbed = before.finish();
  Writer during(port, data.database, "during");
  auto took = merge_two(client, data.database);
  took += merge_two(client, data.database);
  const Latencies disturbed = during.finish();

  Row beside;
  beside.name = "longest durable PUT while three are merged into one";
  beside.result = disturbed.quantile_ms(1);
  beside.unit = "ms";
  beside.p50_ms = disturbed.quantile_ms(0.5);
  beside.p99_ms = disturbed.quantile_ms(0.99);
  beside.note =
      fmt::format("merged in {:.1f} s; the same writer without a merge: {}", took.count(), quantiles(undisturbed));
  run.report.add(beside);
  client.expect(200, "DELETE", "/" + data.database);
}

}  // namespace octavo::bench
