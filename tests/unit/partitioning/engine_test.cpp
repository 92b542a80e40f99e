#include "partitioning/engine.h"

#include <fstream>
#include <set>
#include <thread>

#include <catch2/catch.hpp>

#include "partitioning/scan.h"
#include "support/engine_fixture.h"

using namespace octavo;
using namespace octavo::partitioning;
using octavo::tests::EngineFixture;
using octavo::tests::run_task;

namespace {

std::vector<std::string> ids(Database& database, DocumentRange range = {}, std::size_t slice = 3) {
  std::vector<std::string> found;
  DocumentScan scan(database, std::move(range));
  while (*scan.run({slice}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
    found.emplace_back(document.id);
    return Visit::next;
  }) == ScanState::more) {
  }
  return found;
}

std::vector<std::string> feed(Database& database, FeedRange range = {}, std::size_t slice = 3) {
  std::vector<std::string> found;
  FeedScan scan(database, std::move(range));
  while (*scan.run({slice}, [&](const storage::FeedRow& row, const storage::Snapshot&) {
    found.emplace_back(row.id);
    return Visit::next;
  }) == ScanState::more) {
  }
  return found;
}

}  // namespace

TEST_CASE("databases and documents are there after a restart") {
  EngineFixture fixture;
  auto shop = fixture.create("shop", {true, 4});
  for (int i = 0; i < 40; ++i)
    EngineFixture::put(*shop, "p" + std::to_string(i) + ":k", "{\"i\":" + std::to_string(i) + "}");
  const std::string tag = shop->instance_tag();
  const auto watermark = shop->watermark();
  shop.reset();
  fixture.stop();
  fixture.start();
  CHECK(fixture.engine().database_names() == std::vector<std::string>{"shop"});
  shop = fixture.engine().find_database("shop");
  REQUIRE(shop);
  CHECK(shop->partitioned());
  CHECK(shop->physical_partition_count() == 4);
  CHECK(shop->instance_tag() == tag);
  CHECK(shop->watermark() == watermark);
  CHECK(shop->statistics()->document_count == 40);
}

TEST_CASE("documents spread over physical partitions and are walked in one order, both ways") {
  EngineFixture fixture;
  auto database = fixture.create("d", {false, 5});
  std::vector<std::string> expected;
  for (int i = 100; i < 160; ++i) {
    EngineFixture::put(*database, "doc" + std::to_string(i), "{}");
    expected.push_back("doc" + std::to_string(i));
  }
  std::set<std::size_t> used;
  for (const auto& id : expected) used.insert(database->locate_document(id));
  CHECK(used.size() == 5);
  CHECK(ids(*database) == expected);
  DocumentRange descending;
  descending.descending = true;
  CHECK(ids(*database, descending) == std::vector<std::string>(expected.rbegin(), expected.rend()));
  DocumentRange middle;
  middle.start = "doc110";
  middle.end = "doc113";
  middle.end_inclusive = false;
  CHECK(ids(*database, middle) == std::vector<std::string>{"doc110", "doc111", "doc112"});
}

TEST_CASE("a logical partition is walked alone, in both directions") {
  EngineFixture fixture;
  auto database = fixture.create("d", {true, 3});
  for (const std::string id : {"a:1", "a:2", "a:3", "a!:1", "a;:1", "ab:1", "b:1"})
    EngineFixture::put(*database, id, "{}");
  DocumentRange range;
  range.partition_key = "a";
  CHECK(ids(*database, range) == std::vector<std::string>{"a:1", "a:2", "a:3"});
  range.descending = true;
  CHECK(ids(*database, range) == std::vector<std::string>{"a:3", "a:2", "a:1"});
  range.start = "a:2";
  CHECK(ids(*database, range) == std::vector<std::string>{"a:2", "a:1"});
}

TEST_CASE("the feed of all physical partitions is one, in order of writing") {
  EngineFixture fixture;
  auto database = fixture.create("d", {false, 4});
  std::vector<std::string> expected;
  for (int i = 0; i < 30; ++i) {
    expected.push_back("x" + std::to_string(i * 7919 % 1000));
    EngineFixture::put(*database, expected.back(), "{}");
  }
  CHECK(feed(*database) == expected);
  CHECK(feed(*database, {28, false, {}}) == std::vector<std::string>(expected.begin() + 28, expected.end()));
  CHECK(feed(*database, {0, true, {}}) == std::vector<std::string>(expected.rbegin(), expected.rend()));
}

TEST_CASE("a follower that reads up to the watermark misses nothing while many write") {
  EngineFixture fixture;
  auto database = fixture.create("d", {false, 4});
  constexpr int kWriters = 4;
  constexpr int kEach = 200;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < kEach; ++i) EngineFixture::put(*database, std::to_string(w) + "-" + std::to_string(i), "{}");
    });
  }
  std::set<std::string> seen;
  storage::Sequence last = 0;
  FeedScan scan(*database, {});
  while (seen.size() < kWriters * kEach) {
    REQUIRE(run_task(
        database->wait_for_change(scan.position(), std::chrono::steady_clock::now() + std::chrono::seconds(20))));
    while (*scan.run({64}, [&](const storage::FeedRow& row, const storage::Snapshot&) {
      CHECK(row.sequence > last);
      last = row.sequence;
      seen.insert(std::string(row.id));
      return Visit::next;
    }) == ScanState::more) {
    }
  }
  for (auto& writer : writers) writer.join();
  CHECK(seen.size() == kWriters * kEach);
}

TEST_CASE("a name exists once; deleting makes room for another incarnation") {
  EngineFixture fixture;
  auto first = fixture.create("d");
  const std::string old_sequence = first->format_sequence(5);
  CHECK(fixture.engine().create_database("d", {}).error().code == ErrorCode::precondition_failed);
  REQUIRE(fixture.engine().delete_database("d"));
  CHECK_FALSE(fixture.engine().find_database("d"));
  CHECK(first->snapshot(0).error().code == ErrorCode::not_found);
  CHECK(fixture.engine().delete_database("d").error().code == ErrorCode::not_found);
  auto second = fixture.create("d");
  CHECK(second->statistics()->document_count == 0);
  CHECK(*second->parse_sequence(old_sequence) == 0);
  CHECK(*second->parse_sequence(second->format_sequence(5)) == 5);
}

TEST_CASE("the files of a deleted database go when its last user ends") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  const auto folder = database->folder();
  REQUIRE(fixture.engine().delete_database("d"));
  CHECK(std::filesystem::exists(folder));
  database.reset();
  fixture.stop();
  CHECK_FALSE(std::filesystem::exists(folder));
}

TEST_CASE("what an interrupted creation left is removed at the next start") {
  EngineFixture fixture;
  fixture.create("d");
  fixture.stop();
  const auto orphan = fixture.settings().data_dir / "databases" / "0123456789abcdef0123456789abcdef";
  std::filesystem::create_directories(orphan / "partition-0");
  fixture.start();
  CHECK_FALSE(std::filesystem::exists(orphan));
  CHECK(fixture.engine().find_database("d"));
}

TEST_CASE("a data folder is used by one process, and one of a newer format by none") {
  EngineFixture fixture;
  const auto second = Engine::open(fixture.settings(), {});
  REQUIRE_FALSE(second);
  CHECK(second.error().reason.find("in use") != std::string::npos);
  fixture.stop();
  std::ofstream(fixture.settings().data_dir / "octavo.format") << "99\n";
  const auto newer = Engine::open(fixture.settings(), {});
  REQUIRE_FALSE(newer);
  CHECK(newer.error().reason.find("format 99") != std::string::npos);
}

TEST_CASE("database names follow CouchDB's rules") {
  for (const std::string name : {"a", "abc_$()+-/9", "_users", "_replicator", "_global_changes"})
    CHECK(Engine::check_database_name(name));
  for (const std::string name : {"", "A", "1a", "_x", "a b", "a..b", "ä", "../x"}) {
    CHECK(Engine::check_database_name(name).error().word == "illegal_database_name");
  }
  CHECK(Engine::check_database_name(std::string(239, 'a')).error().word == "database_name_too_long");
}

TEST_CASE("sequences are accepted in every form that clients send") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  EngineFixture::put(*database, "a", "{}");
  CHECK(*database->parse_sequence("0") == 0);
  CHECK(*database->parse_sequence("17") == 17);
  CHECK(*database->parse_sequence("now") == 1);
  CHECK(*database->parse_sequence("\"" + database->format_sequence(1) + "\"") == 1);
  for (const std::string text : {"", "x", "1x", "1-", "-1"}) CHECK_FALSE(database->parse_sequence(text));
}

TEST_CASE("more databases than open environments allowed are used in turn") {
  config::Settings settings;
  settings.open_partitions_max = 5;
  EngineFixture fixture({}, settings);
  for (int i = 0; i < 30; ++i) EngineFixture::put(*fixture.create("d" + std::to_string(i)), "a", "{}");
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 30; ++i) {
      auto database = fixture.engine().find_database("d" + std::to_string(i));
      REQUIRE(database);
      EngineFixture::put(*database, "r" + std::to_string(round), "{}");
    }
  }
  for (int i = 0; i < 30; ++i) {
    CHECK(fixture.engine().find_database("d" + std::to_string(i))->statistics()->document_count == 4);
  }
}

TEST_CASE("an atomic batch over two partitions is refused") {
  EngineFixture fixture;
  auto database = fixture.create("d", {true, 2});
  std::vector<storage::DocumentWrite> writes(2);
  writes[0].id = "a:1";
  writes[0].body = "{}";
  writes[1].id = "b:1";
  writes[1].body = "{}";
  const auto results = run_task(database->write(std::move(writes), {true}));
  CHECK(results[0].error().code == ErrorCode::bad_request);
  CHECK(database->statistics()->document_count == 0);
}

TEST_CASE("revs_limit and security survive a restart") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  REQUIRE(database->set_revs_limit(7));
  REQUIRE(database->set_security(R"({"admins":{}})"));
  database.reset();
  fixture.stop();
  fixture.start();
  database = fixture.engine().find_database("d");
  CHECK(database->revs_limit() == 7);
  REQUIRE(database->security());
  CHECK(*database->security() == R"({"admins":{}})");
}

TEST_CASE("run_blocking brings back the result of a worker") {
  EngineFixture fixture;
  const auto here = std::this_thread::get_id();
  const bool elsewhere = run_task(fixture.engine().run_blocking([here] { return std::this_thread::get_id() != here; }));
  CHECK(elsewhere);
}
