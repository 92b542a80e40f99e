// A split that meets a disk which fails.
#include <atomic>
#include <chrono>
#include <filesystem>
#include <future>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "partitioning/partition_move.h"
#include "support/engine_fixture.h"
#include "support/eventually.h"
#include "support/fault_plan.h"
#include "support/patience.h"
#include "support/temporary_folder.h"

namespace octavo::partitioning {
namespace {

using octavo::tests::EngineFixture;
using octavo::tests::FaultPlan;
using octavo::tests::run_task;
using Call = storage::StorageCall;

bool is_written(Database& database, std::string id) {
  storage::DocumentWrite write;
  write.id = std::move(id);
  write.body = "{}";
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(std::move(write));
  return run_task(database.write(std::move(writes))).front().has_value();
}

}  // namespace

TEST_CASE("a split that is stopped while the catalog fails lets writes resume when the catalog works again") {
  octavo::tests::TemporaryFolder folder;
  FaultPlan faults;
  config::Settings settings;
  settings.data_dir = folder.path() / "data";
  settings.durability = config::Durability::ephemeral;
  const auto engine = Engine::open(settings, {}, &faults).value();
  const auto database = engine->create_database("shop", {.partitioned = true}).value();
  for (int i = 0; i < 100; ++i) EngineFixture::put(*database, "key" + std::to_string(i) + ":1", "{}");

  std::atomic<bool> is_stopped = false;
  std::atomic<bool> server_ends = false;
  PartitionMove split(database, {0}, [&] { return is_stopped.load(); }, [&] { return server_ends.load(); });
  faults.plan({.code = EIO, .calls = {Call::commit, Call::begin_read}, .lasting = true, .folder_part = "data/catalog"});
  auto result = std::async(std::launch::async, [&] { return split.run(); });
  // The commit, and looking whether it took place all the same.
  const auto until = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds{30});
  const auto waits = [&] { return split.stage() == MoveStage::switching && faults.fired() >= 2; };
  while (!waits() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  CHECK(waits());
  auto written = std::async(std::launch::async, [&] { return is_written(*database, "key1:2"); });
  is_stopped = true;
  CHECK(result.wait_for(std::chrono::milliseconds{500}) == std::future_status::timeout);

  faults.heal();
  const bool has_ended =
      result.wait_for(octavo::tests::patiently(std::chrono::seconds{30})) == std::future_status::ready;
  CHECK(has_ended);
  server_ends = true;
  CHECK_FALSE(result.get());
  REQUIRE(written.wait_for(octavo::tests::patiently(std::chrono::seconds{30})) == std::future_status::ready);
  CHECK(written.get());
  CHECK(database->partition_ids() == std::vector<std::size_t>{0});
}

TEST_CASE("a split that cannot remove what an earlier one left over fails and changes nothing") {
  EngineFixture fixture;
  const auto database = fixture.create("shop", {.partitioned = true});
  for (int i = 0; i < 20; ++i) EngineFixture::put(*database, "key" + std::to_string(i) + ":1", "{}");
  std::filesystem::path depths = database->folder() / "partition-1";
  for (int i = 0; i < 200; ++i) depths /= "d";
  std::filesystem::create_directories(depths);
  const auto split = [&] { return PartitionMove(database, {0}, [] { return false; }).run(); };

  // Each level of a folder that is being removed needs a descriptor.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(STDERR_FILENO);
  REQUIRE(next >= 0);
  ::close(next);
  const rlimit tight{static_cast<rlim_t>(next) + 100, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &tight) == 0);
  const auto refused = split();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::io_failure);
  CHECK(database->partition_ids() == std::vector<std::size_t>{0});
  CHECK(is_written(*database, "key1:2"));

  REQUIRE(split());
  CHECK(database->partition_ids() == std::vector<std::size_t>{1, 2});
}

TEST_CASE("a split that is short of memory says so in its job") {
  FaultPlan faults;
  EngineFixture fixture({}, {}, &faults);
  const auto database = fixture.create("shop", {.partitioned = true});
  for (int i = 0; i < 20; ++i) EngineFixture::put(*database, "key" + std::to_string(i) + ":1", "{}");
  faults.plan({.code = FaultPlan::no_memory, .calls = {Call::create_folder}, .folder_part = "partition-1"});
  auto& moves = fixture.engine().moves();
  const auto number = moves.add(database, 0);
  REQUIRE(number.has_value());

  REQUIRE(octavo::tests::eventually([&] { return moves.job(*number)->state == MoveQueue::State::failed; },
                                    octavo::tests::patiently(std::chrono::seconds{30})));
  CHECK(moves.job(*number)->failure == "The server is short of memory.");
  CHECK(faults.fired() == 1);
  CHECK(database->partition_ids() == std::vector<std::size_t>{0});
}

}  // namespace octavo::partitioning
