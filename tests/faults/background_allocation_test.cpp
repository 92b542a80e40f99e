// Threads in the background that are refused memory: an exception there is not caught, and would end the process; and
// functions in JavaScript, which must not.
//
// Requests meet them only by chance, as they are about something else; here each allocation is refused in turn.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <catch2/catch.hpp>

#include "base/folder.h"
#include "base/jobs/background_jobs.h"
#include "base/jobs/repeated_job.h"
#include "faults/failing_allocator.h"
#include "query/follow/parallel_work.h"
#include "query/javascript/script.h"
#include "query/json/parsed_document.h"
#include "storage/compaction_queue.h"
#include "storage/lmdb/store_preparation.h"
#include "storage/partition/partition_transaction.h"
#include "support/format_1.h"
#include "support/partition_fixture.h"
#include "support/temporary_folder.h"

using namespace octavo;
using namespace octavo::tests;
using namespace std::chrono_literals;

namespace {

/// Calls `step` with memory refused at its first allocation, its second, and so on, until it meets none. How many there
/// were.
template <class Step>
std::size_t at_each_allocation(Step step, void (*fail_nth)(std::size_t) = fail_allocation) {
  for (std::size_t n = 1;; ++n) {
    fail_nth(n);
    try {
      step();
    } catch (const std::bad_alloc&) {
    }
    if (!stop_failing()) return n - 1;
  }
}

/// Names longer than a string holds without memory.
void fill(const std::filesystem::path& folder) {
  const auto inner = folder / "partition-with-a-name-of-some-length";
  std::filesystem::create_directories(inner);
  for (const char* name : {"data-with-a-name-of-some-length.mdb", "lock-with-a-name-of-some-length.mdb"}) {
    std::ofstream(inner / name) << "rows";
    std::ofstream(folder / name) << "rows";
  }
}

// Memory runs out where it reads documents, and again on the way back.
struct HostWithoutMemory final : query::javascript::ScriptHost {
  std::size_t refused_next = 0;
  std::size_t calls = 0;

  Expected<Answer> run(const Request&) override {
    ++calls;
    fail_allocation(refused_next);
    throw std::bad_alloc();
  }
};

template <class Condition>
void wait_for(Condition condition) {
  while (!condition()) std::this_thread::sleep_for(1ms);
}

}  // namespace

TEST_CASE("a folder that is listed without memory is no end of the process") {
  const TemporaryFolder temporary;
  fill(temporary.path());
  std::error_code error;
  CHECK(at_each_allocation([&] { storage::folder_entries(temporary.path(), error); }) > 3);
  CHECK(storage::folder_entries(temporary.path(), error).size() == 3);
}

TEST_CASE("a folder is removed without memory") {
  const TemporaryFolder temporary;
  const auto folder = temporary.path() / "database-with-a-name-of-some-length";
  fill(folder);
  std::error_code error;
  CHECK(at_each_allocation([&] { storage::remove_folder(folder, error); }) == 0);
  CHECK(!error);
  CHECK(!std::filesystem::exists(folder));
}

TEST_CASE("a parser that was refused memory parses once there is some") {
  const std::string json = R"({"a":[1,{"b":"c"}]})";
  std::size_t allocations = 0;
  for (std::size_t n = 1; allocations == 0; ++n) {
    query::DocumentParser parser;
    fail_allocation(n);
    try {
      static_cast<void>(parser.parse(json));
    } catch (const std::bad_alloc&) {
    }
    if (!stop_failing()) allocations = n - 1;
    CAPTURE(n);
    CHECK(parser.parse(json));
  }
  CHECK(allocations > 4);
}

TEST_CASE("the partition's refusal of a task reaches who asked for it, without memory, too") {
  PartitionFixture fixture;
  fixture.partition().retire();
  bool refused = true;
  const auto allocations = at_each_allocation([&] {
    std::promise<Expected<void>> done;
    auto answer = done.get_future();
    fixture.partition().run_transaction([](storage::PartitionTransaction&) -> Expected<bool> { return true; }, {}, 100,
                                        [&](Expected<void> result) { done.set_value(std::move(result)); });
    refused &= !answer.get();
  });
  CHECK(allocations > 1);
  CHECK(refused);
}

TEST_CASE("the preparation of a compaction is told of each refusal of memory, and succeeds once there is some") {
  PartitionFixture source;
  source.partition().set_replaced_limits({.kept_s = 3600, .share_percent = 100});
  const auto first = source.put("p:a", R"({"v":1})").value();
  REQUIRE(source.put("p:a", R"({"v":2})", first.revision));
  REQUIRE(source.put("p:b", "{}"));
  store_as_format_1(source, "p:a");
  store_logical_as_format_1(source, "p");
  const auto prepare = [](PartitionFixture& fixture) -> Expected<void> {
    storage::StorePreparation preparation;
    OCTAVO_TRY_VOID(fixture.partition().drop_replaced(preparation));
    return fixture.partition().upgrade_rows(preparation);
  };
  bool has_thrown = false;
  std::size_t refusals = 0;
  for (std::size_t n = 1;; ++n) {
    PartitionFixture fixture({}, source);
    Expected<void> prepared;
    fail_allocation(n);
    try {
      prepared = prepare(fixture);
    } catch (const std::bad_alloc&) {
      has_thrown = true;
    }
    const bool struck = stop_failing();
    CAPTURE(n);
    if (!prepared) {
      CHECK(struck);
      CHECK(prepared.error().code == ErrorCode::overloaded);
      ++refusals;
    }
    CHECK(prepare(fixture));
    CHECK(fixture.is_sound());
    CHECK(storage::check_partition(fixture.partition(), true).value().rows_of_format_1 == 0);
    if (!struck) break;
  }
  CHECK_FALSE(has_thrown);
  CHECK(refusals > 10);
}

TEST_CASE("compactions that are queued without memory run all, or none of them") {
  constexpr int target_count = 20;  // more than the queue holds without another allocation
  const auto owner = std::make_shared<const int>(0);
  std::atomic<int> ran{0};
  storage::CompactionQueue queue;
  const auto targets = [&] {
    std::vector<storage::CompactionQueue::Target> made(target_count);
    for (auto& target : made) {
      target.owner = owner;
      target.index = std::make_shared<const int>(0);
      target.is_gone = [] { return false; };
      target.files = {.compact = [&ran](const auto&) -> Expected<void> {
                        ++ran;
                        return {};
                      },
                      .file_bytes = [] { return std::uint64_t{0}; },
                      .density = [] { return std::nullopt; }};
    }
    return made;
  };
  int queued = 0;
  const auto allocations = at_each_allocation([&] {
    auto made = targets();
    if (queue.add(std::move(made))) queued += target_count;
  });
  wait_for([&] { return queue.totals().waiting == 0; });
  CHECK(allocations > target_count);
  CHECK(ran == queued);
}

TEST_CASE("a stored procedure cannot catch that the server is short of memory, be it twice") {
  using namespace query::javascript;
  const std::vector<Program::Function> functions{
      {.name = "script", .source = "function () { for (;;) { try { __.readDocument('x'); } catch (e) {} } }"}};
  const auto program = std::make_shared<const Program>("database", functions, "", Program::Kind::script);
  HostWithoutMemory host;
  for (bool struck = true; struck;) {
    ++host.refused_next;
    host.calls = 0;
    bool refused = false;
    try {
      const auto result = run_script(program, host, {});
      refused = !result && result.error().code == ErrorCode::overloaded;
    } catch (const std::bad_alloc&) {
      refused = true;
    }
    struck = stop_failing();
    CAPTURE(host.refused_next);
    CHECK(refused);
    CHECK(host.calls == 1);
  }
}

TEST_CASE("work in the background that carries much runs once there is memory") {
  boost::asio::thread_pool pool(1);
  BackgroundJobs jobs(pool);
  std::atomic<std::size_t> asked{0};
  std::atomic<std::size_t> ran{0};
  const auto ask = [&](auto start) {
    at_each_allocation([&] {
      const auto job = [&ran, carried = std::string("more than a string holds without memory")] {
        ran += carried.empty() ? 0 : 1;
      };
      start(job);  // throws only where the job cannot be copied for it
      ++asked;
      wait_for([&] { return ran == asked; });
    });
  };
  ask([&](const auto& job) { jobs.post(job); });
  ask([&](const auto& job) { jobs.post_after(1ms, job); });
  CHECK(ran > 2);
  jobs.stop();
  pool.join();
}

TEST_CASE("a repeating job continues after a shortage of memory") {
  boost::asio::thread_pool pool(1);
  std::atomic<std::size_t> ran{0};
  RepeatedJob job(pool, [&]() -> std::optional<std::chrono::milliseconds> {
    ++ran;
    return 1ms;
  });
  at_each_allocation([&] {
    job.start(0ms);
    const std::size_t before = ran;
    wait_for([&] { return ran >= before + 3; });
  });
  job.stop();
  pool.join();
  CHECK(ran >= 6);
}

TEST_CASE("work in parallel that cannot have all its helpers is done with fewer, and none runs after it") {
  boost::asio::thread_pool pool(3);
  const std::atomic<bool> stopping{false};
  std::vector<std::atomic<int>> calls(200);
  std::atomic<bool> is_over{true};
  std::atomic<int> late{0};
  int begun = 0;
  int returned = 0;
  bool whole = true;
  const auto work = [&](std::size_t i) -> Expected<void> {
    std::this_thread::sleep_for(20us);
    if (is_over) ++late;
    ++calls[i];
    return {};
  };
  const auto run = [&] {
    ++begun;
    for (auto& count : calls) count = 0;
    is_over = false;
    try {
      const auto done = query::work_in_parallel(&pool, calls.size(), stopping, work);
      ++returned;
      whole &= done && *done == calls.size();
      for (const auto& count : calls) whole &= count == 1;
    } catch (const std::bad_alloc&) {
      // Before it began.
    }
    is_over = true;
    std::this_thread::sleep_for(1ms);
  };
  at_each_allocation(run);
  at_each_allocation(run, fail_operation);
  pool.join();
  CHECK(whole);
  CHECK(late == 0);
  CHECK(returned + 1 >= begun);
  CHECK(begun > 2);
}
