#include "bench/cases/cases.h"

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "bench/bare_server.h"
#include "bench/cases/cosmos_cases.h"
#include "bench/cases/split_cases.h"
#include "bench/cases/view_cases.h"
#include "bench/http_client.h"
#include "bench/lmdb_limit.h"
#include "bench/load.h"
#include "bench/measurement.h"

namespace octavo::bench {

namespace {

using Clock = std::chrono::steady_clock;
constexpr double mebibyte = 1024.0 * 1024.0;

std::uint64_t document_count(Run& run) {
  HttpClient client(run.server->port());
  const auto info = boost::json::parse(client.expect(200, "GET", "/" + run.data.database).body);
  return info.at("doc_count").to_number<std::uint64_t>();
}

/// A bare server that answers with the bytes the measured one answers. One example reply stands for all: they differ in
/// some digits only.
std::unique_ptr<BareServer> bare_server_for(Run& run, const RequestSource& source, int status) {
  std::string example;
  source(example, 0);
  const auto line = example.substr(0, example.find("\r\n"));
  const auto method = line.substr(0, line.find(' '));
  const auto target = line.substr(method.size() + 1, line.rfind(' ') - method.size() - 1);
  HttpClient client(run.server->port());
  const auto reply = client.expect(status, method, target, example.substr(example.find("\r\n\r\n") + 4));
  return std::make_unique<BareServer>(reply.body, reply.status, run.options.threads);
}

Row measure_beside_bare(Run& run, const std::string& name, unsigned connections, const RequestSource& source) {
  const auto bare = bare_server_for(run, source, 200);
  LoadResult result, limit;
  for (unsigned round = 0; round < run.options.rounds; ++round) {
    result = better(std::move(result), measure_load(run, run.server->port(), connections, 200, source));
    limit = better(std::move(limit), measure_load(run, bare->port(), connections, 200, source));
  }
  auto row = row_of(name, result);
  row.limit = limit.per_second();
  row.limit_name = "bare Beast, same bytes";
  return row;
}

/// Writes beside bare LMDB, in turns. `documents` is what one request writes.
Row measure_beside_lmdb(Run& run, const std::string& name, unsigned connections, unsigned documents, unsigned batch,
                        const RequestSource& source) {
  if (!run.write_limit) {
    run.write_limit = std::make_unique<LmdbWriteLimit>(run.options.folder / "write-limit", run.data.document(0, false),
                                                       run.data.count);
  }
  LoadResult result;
  double limit = 0;
  for (unsigned round = 0; round < run.options.rounds; ++round) {
    result = better(std::move(result), measure_load(run, run.server->port(), connections, 201, source));
    limit = std::max(limit, run.write_limit->per_second(batch, run.options.duration));
  }
  auto row = row_of(name, result);
  row.result *= documents;
  row.unit = "docs/s";
  row.limit = limit;
  row.limit_name = fmt::format("bare LMDB, batch {}", batch);
  return row;
}

void get(Run& run) {
  Random random;
  const RequestSource source = [&](std::string& out, std::uint64_t) {
    append_request(out, "GET", fmt::format("/{}/{}", run.data.database, DataSet::id(random.below(run.data.count))));
  };
  run.report.add_with_ratio_goal(measure_beside_bare(run, "GET a document, 32 connections", 32, source), 0.8);
}

void partition_all_docs(Run& run) {
  Random random;
  const RequestSource source = [&](std::string& out, std::uint64_t) {
    append_request(out, "GET",
                   fmt::format("/{}/_partition/{}/_all_docs?include_docs=true&limit=25", run.data.database,
                               DataSet::partition(random.below(run.data.partitions()))));
  };
  run.report.add(measure_beside_bare(run, "partition _all_docs, 25 with documents", 32, source));
}

/// Ids no other write of this or an earlier run has: the process, and a count that never starts over.
class NewIds {
 public:
  std::string next() { return fmt::format("w{:08x}:{}-{}", random_.below(UINT32_MAX), ::getpid(), count_++); }

 private:
  Random random_;
  std::uint64_t count_ = 0;
};

void put(Run& run) {
  const auto body = run.data.document(1, false);
  NewIds ids;
  const RequestSource source = [&](std::string& out, std::uint64_t) {
    append_request(out, "PUT", fmt::format("/{}/{}", run.data.database, ids.next()), body);
  };
  run.report.add(measure_beside_lmdb(run, "durable PUT, 1 connection", 1, 1, 1, source));
  run.report.add(measure_beside_lmdb(run, "durable PUT, 32 connections", 32, 1, 64, source));
  run.report.add_with_ratio_goal(measure_beside_lmdb(run, "durable PUT, 256 connections", 256, 1, 64, source), 0.5);
}

void bulk(Run& run) {
  const auto document = run.data.document(1, false).substr(1);
  NewIds ids;
  for (const unsigned batch : {100u, 1000u}) {
    const RequestSource source = [&](std::string& out, std::uint64_t) {
      std::string body = R"({"docs":[)";
      for (unsigned i = 0; i < batch; ++i) {
        if (i != 0) body += ',';
        fmt::format_to(std::back_inserter(body), R"({{"_id":"b{}",{})", ids.next(), document);
      }
      body += "]}";
      append_request(out, "POST", fmt::format("/{}/_bulk_docs", run.data.database), body);
    };
    const auto name = fmt::format("_bulk_docs of {}, 4 connections", batch);
    run.report.add_with_ratio_goal(measure_beside_lmdb(run, name, 4, batch, batch, source), 0.5);
  }
}

/// Creates an index and waits until `query` is answered from it, which means: by looking at `documents` documents.
void build_index(Run& run, const std::string& definition, const std::string& find_target, const std::string& query,
                 std::uint64_t documents, std::string name) {
  HttpClient client(run.server->port());
  const auto count = document_count(run);
  const auto begin = Clock::now();
  const auto created = client.expect(200, "POST", fmt::format("/{}/_index", run.data.database), definition);
  if (created.body.find("\"created\"") == std::string::npos) return;  // a reused folder has it
  const auto explain = find_target.substr(0, find_target.rfind('/')) + "/_explain";
  for (;;) {
    const auto tasks = client.expect(200, "GET", "/_active_tasks").body;
    if (tasks.find("indexer") == std::string::npos) {
      const auto reply = boost::json::parse(client.expect(200, "POST", find_target, query).body);
      if (reply.at("execution_stats").at("total_docs_examined").to_number<std::uint64_t>() <= documents) break;
    }
    if (Clock::now() - begin > std::chrono::hours(1)) {
      throw std::runtime_error("the index is never used: " + client.request("POST", explain, query).body);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  Row row;
  row.name = std::move(name);
  row.result = static_cast<double>(count) / std::chrono::duration<double>(Clock::now() - begin).count();
  row.unit = "docs/s";
  row.limit = lmdb_index_build_per_second(run.options.folder / "limit", run.data.document(0, false),
                                          std::min<std::uint64_t>(count, 1'000'000));
  row.limit_name = "bare LMDB: scan, sort, append";
  run.report.add(std::move(row));
}

void partition_find(Run& run) {
  const auto target_of = [&](std::uint64_t partition) {
    return fmt::format("/{}/_partition/{}/_find", run.data.database, DataSet::partition(partition));
  };
  build_index(run, R"({"index":{"fields":["kind"]},"ddoc":"by-kind","name":"by-kind","partitioned":true})",
              target_of(0), R"({"selector":{"kind":"k1"},"limit":25,"execution_stats":true})", 25,
              "build of a local index");
  Random random;
  const RequestSource source = [&](std::string& out, std::uint64_t) {
    append_request(out, "POST", target_of(random.below(run.data.partitions())),
                   R"({"selector":{"kind":"k1"},"limit":25})");
  };
  run.report.add_with_ratio_goal(measure_beside_bare(run, "partition _find, 25 documents by a local index", 32, source),
                                 0.5);
}

// A query in SQL beside the same one for `_find`.
void add_beside_find(Run& run, const std::string& name, const RequestSource& sql, const RequestSource& find) {
  constexpr double ratio_goal = 0.9;
  const std::uint16_t port = run.server->port();
  add_in_turn(run, {.name = name, .other_name = "the same by _find", .ratio_goal = ratio_goal}, {port, sql},
              {port, find});
}

// The query of partition_find in SQL.
void partition_sql(Run& run) {
  Random random;
  const auto request = [&](std::string& out, std::string_view way, std::string_view body) {
    const auto partition = DataSet::partition(random.below(run.data.partitions()));
    append_request(out, "POST", fmt::format("/{}/_partition/{}/{}", run.data.database, partition, way), body);
  };
  const RequestSource sql = [&](std::string& out, std::uint64_t) {
    request(out, "_sql", R"({"query":"SELECT * FROM c WHERE c.kind = 'k1'","limit":25})");
  };
  const RequestSource find = [&](std::string& out, std::uint64_t) {
    request(out, "_find", R"({"selector":{"kind":"k1"},"limit":25})");
  };
  add_beside_find(run, "partition _sql, the same 25 documents", sql, find);
}

// Groups of all documents, and one number about them, by SQL and by _find.
void aggregates(Run& run) {
  const auto ask = [&](std::string_view way, std::string_view body) -> RequestSource {
    return [target = fmt::format("/{}/{}", run.data.database, way), body = std::string(body)](
               std::string& out, std::uint64_t) { append_request(out, "POST", target, body); };
  };
  const std::uint16_t port = run.server->port();
  const auto groups = ask("_sql", R"({"query":"SELECT c.kind, COUNT(1) AS n FROM c GROUP BY c.kind"})");
  run.report.add(row_of("GROUP BY over all documents, 1 connection", measure_load(run, port, 1, 200, groups)));
  constexpr double ratio_goal = 0.9;
  add_in_turn(
      run, {.name = "_find with group, all documents", .other_name = "the same by _sql", .ratio_goal = ratio_goal},
      {port, ask("_find", R"({"selector":{},"group":["kind"],"aggregate":{"n":{"$count":true}}})")}, {port, groups});
  add_in_turn(run,
              {.name = "_find with $sum, all documents", .other_name = "the same by _sql", .ratio_goal = ratio_goal},
              {port, ask("_find", R"({"selector":{},"aggregate":{"n":{"$sum":"number"}}})")},
              {port, ask("_sql", R"({"query":"SELECT VALUE SUM(c.number) FROM c"})")});
}

void global_find(Run& run) {
  const auto target = fmt::format("/{}/_find", run.data.database);
  const auto query_of = [](std::uint64_t customer) {
    return fmt::format(R"({{"selector":{{"customer":"u{:07}"}},"limit":25)", customer);
  };
  build_index(run, R"({"index":{"fields":["customer"]},"ddoc":"by-customer","name":"by-customer","partitioned":false})",
              target, query_of(0) + R"(,"execution_stats":true})", 25, "build of a global index");
  // Customer 1's documents were copied by the write cases; the others have 25 each.
  Random random;
  const RequestSource source = [&](std::string& out, std::uint64_t index) {
    const auto customer = index == 0 ? 2 : 2 + random.below(std::max<std::uint64_t>(run.data.customers(), 3) - 2);
    append_request(out, "POST", target, query_of(customer) + "}");
  };
  run.report.add_with_ratio_goal(measure_beside_bare(run, "global _find, 25 documents by a global index", 32, source),
                                 0.35);
}

// The queries of global_find in SQL.
void global_sql(Run& run) {
  Random random;
  const auto customer = [&](std::uint64_t index) {
    return index == 0 ? 2 : 2 + random.below(std::max<std::uint64_t>(run.data.customers(), 3) - 2);
  };
  const RequestSource sql = [&](std::string& out, std::uint64_t index) {
    append_request(
        out, "POST", fmt::format("/{}/_sql", run.data.database),
        fmt::format(R"({{"query":"SELECT * FROM c WHERE c.customer = 'u{:07}'","limit":25}})", customer(index)));
  };
  const RequestSource find = [&](std::string& out, std::uint64_t index) {
    append_request(out, "POST", fmt::format("/{}/_find", run.data.database),
                   fmt::format(R"({{"selector":{{"customer":"u{:07}"}},"limit":25}})", customer(index)));
  };
  add_beside_find(run, "global _sql, the same 25 documents", sql, find);
}

constexpr int feed_writes = 500;

Row feed_row(std::string name, const Latencies& after_commit, const Latencies& after_send) {
  Row row;
  row.name = std::move(name);
  row.result = after_commit.quantile_ms(0.99);
  row.unit = "ms p99";
  row.p50_ms = after_commit.quantile_ms(0.5);
  row.p99_ms = after_commit.quantile_ms(0.99);
  row.note = fmt::format("after the PUT's reply; after sending the PUT: p50 {:.2f} ms, p99 {:.2f} ms",
                         after_send.quantile_ms(0.5), after_send.quantile_ms(0.99));
  return row;
}

/// How long after a write was acknowledged its change reaches a follower.
void feed(Run& run) {
  const auto port = run.server->port();
  const auto run_id = static_cast<std::uint64_t>(::getpid());
  const auto body = run.data.document(1, false);
  HttpClient writer(port);
  const auto put_document = [&](const std::string& id) {
    const auto target = fmt::format("/{}/{}", run.data.database, id);
    const auto sent = Clock::now();
    writer.expect(201, "PUT", target, body);
    return std::pair{sent, Clock::now()};
  };
  {
    HttpClient follower(port);
    follower.send("GET", fmt::format("/{}/_changes?feed=continuous&since=now&heartbeat=30000", run.data.database));
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    Latencies after_commit, after_send;
    for (int i = 0; i < feed_writes; ++i) {
      const auto id = fmt::format("f{:04}:{}", i, run_id);
      const auto [sent, acknowledged] = put_document(id);
      follower.receive_until(fmt::format("\"{}\"", id), 5000);
      const auto seen = Clock::now();
      after_commit.add(seen - acknowledged);
      after_send.add(seen - sent);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    run.report.add_with_maximum(feed_row("continuous feed wake-up", after_commit, after_send), 2.0);
  }
  HttpClient follower(port);
  std::string since = "now";
  Latencies after_commit, after_send;
  for (int i = 0; i < feed_writes; ++i) {
    follower.send("GET", fmt::format("/{}/_changes?feed=longpoll&since={}&timeout=30000", run.data.database, since));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto [sent, acknowledged] = put_document(fmt::format("l{:04}:{}", i, run_id));
    const auto reply = follower.receive();
    const auto seen = Clock::now();
    after_commit.add(seen - acknowledged);
    after_send.add(seen - sent);
    since = boost::json::parse(reply.body).at("last_seq").as_string().c_str();
  }
  run.report.add_with_maximum(feed_row("long-poll feed wake-up", after_commit, after_send), 2.0);
}

/// What many followers of a quiet database cost.
void idle_followers(Run& run) {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  const auto count = std::min<std::uint64_t>(run.options.idle_followers, files.rlim_cur - 200);
  const auto port = run.server->port();
  HttpClient client(port);
  client.request("PUT", "/bench-quiet");
  const auto memory_before = static_cast<double>(run.server->anonymous_bytes());
  std::vector<std::unique_ptr<HttpClient>> followers;
  for (std::uint64_t i = 0; i < count; ++i) {
    followers.push_back(std::make_unique<HttpClient>(port));
    followers.back()->send("GET", "/bench-quiet/_changes?feed=continuous&since=now&heartbeat=600000");
  }
  std::this_thread::sleep_for(std::chrono::seconds(1));
  const auto cpu_before = run.server->cpu_seconds();
  std::this_thread::sleep_for(std::chrono::seconds(3));
  const auto cpu = (run.server->cpu_seconds() - cpu_before) / 3;
  Row row;
  row.name = fmt::format("{} idle followers: processor", count);
  row.result = cpu * 100;
  row.unit = "% of a core";
  run.report.add_with_maximum(row, 1.0);
  row = {};
  row.name = fmt::format("{} idle followers: memory for each", count);
  row.result = (static_cast<double>(run.server->anonymous_bytes()) - memory_before) / 1024 / static_cast<double>(count);
  row.unit = "KiB";
  run.report.add(row);
  const auto begin = Clock::now();
  client.expect(201, "PUT", fmt::format("/bench-quiet/wake-{}", ::getpid()), "{}");
  for (auto& follower : followers) follower->receive_until("\"wake-", 10'000);
  row = {};
  row.name = fmt::format("{} followers woken by one write", count);
  row.result = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
  row.unit = "ms until the last";
  run.report.add(row);
}

/// All documents in one reply, while a thread watches the server's memory.
void stream(Run& run) {
  const auto count = document_count(run);
  std::atomic<std::uint64_t> peak{0};
  const auto before = run.server->anonymous_bytes();
  double seconds = 0;
  std::uint64_t bytes = 0;
  {
    const std::jthread watcher([&](const std::stop_token& stop) {
      while (!stop.stop_requested()) {
        peak = std::max(peak.load(), run.server->anonymous_bytes());
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
    });
    HttpClient client(run.server->port());
    const auto begin = Clock::now();
    client.send("GET", fmt::format("/{}/_all_docs", run.data.database));
    bytes = client.receive_and_count();
    seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  Row row;
  row.name = fmt::format("_all_docs of {} documents, one connection", count);
  row.result = static_cast<double>(count) / seconds;
  row.unit = "docs/s";
  row.note = fmt::format("{:.0f} MiB/s", static_cast<double>(bytes) / mebibyte / seconds);
  run.report.add(row);
  row = {};
  row.name = "memory outside the page cache while it streams";
  row.result = static_cast<double>(peak.load()) / mebibyte;
  row.unit = "MiB peak";
  row.note = fmt::format("{:.1f} MiB before", static_cast<double>(before) / mebibyte);
  run.report.add_with_maximum(row, 100);
}

void memory(Run& run) {
  Row row;
  row.name = "memory outside the page cache after the cases above";
  row.result = static_cast<double>(run.server->anonymous_bytes()) / mebibyte;
  row.unit = "MiB";
  run.report.add_with_maximum(row, 100);
}

void restart(Run& run) {
  if (!run.server->stop()) throw std::runtime_error("the server did not stop cleanly");
  run.server =
      std::make_unique<ServerProcess>(run.options.binary, run.options.folder / "data", run.options.server_arguments);
  Row row;
  row.name = "ready again on this folder";
  row.result = static_cast<double>(run.server->ready_time().count());
  row.unit = "ms";
  row.note = fmt::format("the server says {} ms", run.server->own_ready_ms());
  run.report.add_with_maximum(row, 200);
  HttpClient client(run.server->port());
  client.expect(200, "GET", fmt::format("/{}/{}", run.data.database, DataSet::id(run.data.count / 2)));
  row = {};
  row.name = "memory outside the page cache after a restart";
  row.result = static_cast<double>(run.server->anonymous_bytes()) / mebibyte;
  row.unit = "MiB";
  run.report.add_with_maximum(row, 100);
}

}  // namespace

const std::vector<Case>& all_cases() {
  static const std::vector<Case> cases{
      {"get", "point reads", get},
      {"all-docs", "_all_docs of a partition", partition_all_docs},
      {"cosmos-get", "point reads by the Azure Cosmos DB API beside the CouchDB API", cosmos_get},
      {"cosmos-upsert", "durable upserts by the Azure Cosmos DB API beside the CouchDB API", cosmos_upsert},
      {"put", "durable single writes over 1, 32 and 256 connections", put},
      {"bulk", "_bulk_docs of 100 and 1000", bulk},
      {"partition-find", "build of a local index, and queries by it", partition_find},
      {"partition-sql", "the queries of partition-find in SQL; after it", partition_sql},
      {"global-find", "build of a global index, and queries by it", global_find},
      {"aggregates", "groups and a sum of all documents by SQL and by _find", aggregates},
      {"view", "build of a view, groups and ranges of it", view_queries},
      {"large-view", "the same with a hundred rows for each document", large_view},
      {"view-writes", "durable writes with 0, 1 and 5 views, and a search index", view_writes},
      {"global-sql", "the queries of global-find in SQL; after it", global_sql},
      {"feed", "wake-up of continuous and long-poll followers", feed},
      {"stream", "all documents in one reply", stream},
      {"split", "splits of physical partitions, and writers beside them", split},
      {"merge", "merges of physical partitions, and writers beside them", merge},
      {"memory", "resident memory after these", memory},
      {"idle-followers", "what many quiet followers cost", idle_followers},
      {"restart", "the time to be ready again, and memory then", restart},
  };
  return cases;
}

void prepare(Run& run) {
  std::filesystem::create_directories(run.options.folder);
  run.server =
      std::make_unique<ServerProcess>(run.options.binary, run.options.folder / "data", run.options.server_arguments);
  run.data.count = run.options.documents;
  HttpClient client(run.server->port());
  if (client.request("GET", "/" + run.data.database).status == 200) {
    const auto last = fmt::format("/{}/{}", run.data.database, DataSet::id(run.data.count - 1));
    if (client.request("GET", last).status != 200) throw std::runtime_error("the folder holds fewer documents: --docs");
    return;
  }
  Row row;
  row.name = fmt::format("fill with {} documents, _bulk_docs of 1000", run.data.count);
  row.result = run.data.fill(run.server->port(), run.options.q);
  row.unit = "docs/s";
  run.report.add(row);
}

}  // namespace octavo::bench
