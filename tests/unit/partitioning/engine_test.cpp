#include "partitioning/engine.h"

#include <atomic>
#include <fstream>
#include <set>
#include <thread>
#include <utility>

#include <catch2/catch.hpp>

#include "partitioning/scan.h"
#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"

using namespace octavo;
using namespace octavo::partitioning;
using octavo::tests::EngineFixture;
using octavo::tests::run_task;

namespace {

/// Ends with its database.
class CountedExtension : public DatabaseExtension {
 public:
  explicit CountedExtension(std::atomic<int>& open) : open_(open) { ++open_; }
  ~CountedExtension() override { --open_; }
  CountedExtension(const CountedExtension&) = delete;
  CountedExtension& operator=(const CountedExtension&) = delete;
  void design_documents_changed() override {}
  void committed() override {}
  void shut_down() override {}

 private:
  std::atomic<int>& open_;
};

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
  CHECK(fixture.engine().databases().names() == std::vector<std::string>{"shop"});
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
  constexpr int writer_count = 4;
  constexpr int writes_each = 200;
  std::vector<std::thread> writers;
  for (int w = 0; w < writer_count; ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; i < writes_each; ++i)
        EngineFixture::put(*database, std::to_string(w) + "-" + std::to_string(i), "{}");
    });
  }
  std::set<std::string> seen;
  storage::Sequence last = 0;
  FeedScan scan(*database, {});
  while (seen.size() < writer_count * writes_each) {
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
  CHECK(seen.size() == writer_count * writes_each);
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
  for (const std::string id : {"a", "b", "c", "d", "e"}) EngineFixture::put(*second, id, "{}");
  CHECK(second->parse_sequence(old_sequence).value().sequence == 0);
  CHECK(second->parse_sequence(second->format_sequence(5)).value().sequence == 5);
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
  // In the background: no caller waits for it.
  for (int i = 0; i < 1000 && std::filesystem::exists(orphan); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
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

TEST_CASE("the first start on a data folder of an older format raises its number") {
  EngineFixture fixture;
  fixture.create("d");
  const auto file = fixture.settings().data_dir / "octavo.format";
  const auto number = [&] {
    int format = 0;
    std::ifstream(file) >> format;
    return format;
  };
  CHECK(number() == 2);
  fixture.stop();
  std::ofstream(file) << "1\n";
  fixture.start();
  CHECK(fixture.engine().find_database("d"));
  CHECK(number() == 2);
}

TEST_CASE("database names follow CouchDB's rules") {
  for (const std::string name : {"a", "abc_$()+-/9", "_users", "_replicator", "_global_changes"})
    CHECK(Engine::check_database_name(name));
  for (const std::string name : {"", "A", "1a", "_x", "a b", "a..b", "ä", "../x"}) {
    CHECK(Engine::check_database_name(name).error().word == "illegal_database_name");
  }
  CHECK(Engine::check_database_name(std::string(239, 'a')).error().word == "database_name_too_long");
}

TEST_CASE("a scan of the feed stops where it is told, and notes which older documents are behind that") {
  EngineFixture fixture;
  const auto shop = fixture.create("shop", {});
  const auto first = EngineFixture::put(*shop, "a", "{}");
  for (const auto* id : {"b", "c"}) EngineFixture::put(*shop, id, "{}");
  FeedRange range;
  range.notes_beyond = true;
  range.notes_new_beyond = false;
  FeedScan scan(*shop, range);
  scan.stop_at(3);
  EngineFixture::put(*shop, "a", R"({"n":2})", first.revision);
  EngineFixture::put(*shop, "d", "{}");
  std::vector<std::string> found;
  const auto run = [&] {
    return scan.run({1}, [&](const storage::FeedRow& row, const storage::Snapshot&) {
      found.emplace_back(row.id);
      return Visit::next;
    });
  };
  while (*run() == ScanState::more) {
  }
  CHECK(found == std::vector<std::string>{"b", "c"});
  CHECK(scan.position() == 3);
  CHECK(scan.beyond() == std::vector<std::string>{"a"});
  scan.stop_at(shop->watermark());
  while (*run() == ScanState::more) {
  }
  CHECK(found == std::vector<std::string>{"b", "c", "a", "d"});
  CHECK(scan.beyond().empty());
}

TEST_CASE("a sequence beyond the end is of changes that were lost, and stands for the beginning") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  EngineFixture::put(*database, "a", "{}");
  CHECK(database->parse_sequence(database->format_sequence(1)).value().sequence == 1);
  CHECK(database->parse_sequence(database->format_sequence(2)).value().sequence == 0);
  CHECK(database->parse_sequence("17").value().sequence == 0);
}

TEST_CASE("a reader that needs dropped tombstones is told so, and one that began at 0 later than them is not") {
  EngineFixture fixture;
  auto database = fixture.create("d", {false, 2});
  const auto a = EngineFixture::put(*database, "a", "{}");
  EngineFixture::put(*database, "b", "{}");
  const auto early = database->watermark();
  EngineFixture::put(*database, "a", "{}", a.revision, true);
  EngineFixture::put(*database, "c", "{}");
  const auto end = database->watermark();
  const auto run = [&](FeedRange range) {
    FeedScan scan(*database, std::move(range));
    return scan.run({}, [](const auto&, const auto&) { return Visit::next; });
  };
  CHECK(run({.since = early, .floor = early}));
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  const auto refused = run({.since = early, .floor = early});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().word == "tombstones_gone");
  CHECK(run({.since = early}));  // does not need them
  CHECK(run({.since = end - 1, .floor = end - 1}));
  CHECK(run({.since = 1, .floor = end}));
  CHECK_FALSE(run({.since = 1, .floor = 0}));
  CHECK_FALSE(run({.since = early, .descending = true, .floor = early}));
  CHECK(run({.descending = true, .floor = end}));
  CHECK(database->hidden_deletions().value().dropped_through == end - 1);

  // A reader that is overtaken while it reads.
  FeedScan slow(*database, {.floor = end});
  const auto one = [](const auto&, const auto&) { return Visit::pause; };
  REQUIRE(slow.run({}, one));
  CHECK(slow.dropped_through() == end - 1);
  const auto found = *database->snapshot_for_document("c")->find("c");
  EngineFixture::put(*database, "c", "{}", found->revision, true);
  REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
  CHECK_FALSE(slow.run({}, one));
}

TEST_CASE("a sequence has a floor where tombstones may have been dropped") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  for (int i = 0; i < 9; ++i) EngineFixture::put(*database, std::to_string(i), "{}");
  const auto parsed = [&](const std::string& text) {
    const auto position = database->parse_sequence(text).value();
    return std::pair(position.sequence, position.floor);
  };
  using Position = std::pair<storage::Sequence, storage::Sequence>;
  const std::string five = database->format_sequence(5);
  CHECK(parsed("0") == Position(0, 9));  // begins now
  CHECK(parsed(database->format_sequence(0)) == Position(0, 9));
  CHECK(parsed("now") == Position(9, 9));
  CHECK(parsed("5") == Position(5, 5));
  CHECK(parsed(five) == Position(5, 5));
  CHECK(parsed(five + ".8") == Position(5, 8));
  CHECK(parsed("\"" + five + ".8\"") == Position(5, 8));
  CHECK(parsed(five + ".3") == Position(5, 5));
  // Sequences of another database, or of another past: the reader may have seen what was deleted since.
  for (const std::string& text : {five + ".10", five + ".", five + ".x", five + ".8x", five + "0.8", std::string("5-x"),
                                  std::string("10"), database->format_sequence(10)}) {
    CHECK(parsed(text) == Position(0, 0));
  }
}

TEST_CASE("a database that has dropped tombstones knows that when it is opened again") {
  EngineFixture fixture;
  {
    auto database = fixture.create("d");
    const auto a = EngineFixture::put(*database, "a", "{}");
    EngineFixture::put(*database, "a", "{}", a.revision, true);
    REQUIRE(octavo::tests::drop_tombstones(*database) == 1);
    CHECK_FALSE(database->may_lack_tombstones());  // the property was never set
  }
  fixture.stop();
  fixture.start();
  CHECK(fixture.engine().find_database("d")->may_lack_tombstones());
}

TEST_CASE("sequences are accepted in every form that clients send") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  EngineFixture::put(*database, "a", "{}");
  CHECK(database->parse_sequence("0").value().sequence == 0);
  CHECK(database->parse_sequence("1").value().sequence == 1);
  CHECK(database->parse_sequence("now").value().sequence == 1);
  CHECK(database->parse_sequence("\"" + database->format_sequence(1) + "\"").value().sequence == 1);
  for (const std::string text : {"", "x", "1x", "1-", "-1"}) CHECK_FALSE(database->parse_sequence(text));
}

TEST_CASE("more databases than open stores allowed are used in turn") {
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
  const bool elsewhere =
      run_task(fixture.engine().workers().run_blocking([here] { return std::this_thread::get_id() != here; }));
  CHECK(elsewhere);
}

TEST_CASE("with one worker, a worker may open databases that are just being closed") {
  config::Settings settings;
  settings.worker_threads = 1;
  settings.open_partitions_max = 2;
  EngineFixture fixture({}, settings);
  for (int i = 0; i < 12; ++i) EngineFixture::put(*fixture.create("d" + std::to_string(i)), "a", "{}");
  std::atomic<int> opened{0};
  for (int round = 0; round < 200; ++round) {
    boost::asio::post(fixture.engine().workers().pool(), [&, round] {
      if (fixture.engine().open_database("d" + std::to_string(round % 12))) ++opened;
    });
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  while (opened < 200 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
  }
  REQUIRE(opened == 200);
}

TEST_CASE("databases opened from many threads are each open once, and what is beyond the limit closes") {
  config::Settings settings;
  settings.open_partitions_max = 8;
  EngineFixture fixture({}, settings);
  for (int i = 0; i < 60; ++i) EngineFixture::put(*fixture.create("d" + std::to_string(i)), "a", "{}");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) {
        const std::string name = "d" + std::to_string((i * 7 + t) % 60);
        const auto database = fixture.engine().open_database(name);
        if (!database || (*database)->name() != name || (*database)->statistics()->document_count != 1) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("what is known of a database without waiting: whether it is open, closed, or not there") {
  config::Settings settings;
  settings.open_partitions_max = 1;
  EngineFixture fixture({}, settings);
  fixture.create("first");
  for (int i = 0; i < 5; ++i) fixture.create("next" + std::to_string(i));
  const auto missing = fixture.engine().databases().find("missing");
  REQUIRE(missing);
  CHECK((*missing).error().code == ErrorCode::not_found);
  const auto is_closed = [&] { return !fixture.engine().databases().find("first"); };
  for (int i = 0; i < 1000 && !is_closed(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds{5});
  CHECK(is_closed());
  const auto held = fixture.engine().open_database("first");
  REQUIRE(held);
  const auto known = fixture.engine().databases().find("first");
  REQUIRE(known);
  CHECK(known->value() == *held);
}

TEST_CASE("names are walked both ways, with or without the one where the walk begins") {
  EngineFixture fixture;
  for (const auto* name : {"b", "a", "d", "c"}) fixture.create(name);
  const auto& engine = fixture.engine();
  using Names = std::vector<std::string>;
  CHECK(engine.databases().count() == 4);
  CHECK(engine.databases().names_from({}, true, false, 3) == Names{"a", "b", "c"});
  CHECK(engine.databases().names_from({}, true, true, 3) == Names{"d", "c", "b"});
  CHECK(engine.databases().names_from("b", true, false, 9) == Names{"b", "c", "d"});
  CHECK(engine.databases().names_from("b", false, false, 9) == Names{"c", "d"});
  CHECK(engine.databases().names_from("c", true, true, 9) == Names{"c", "b", "a"});
  CHECK(engine.databases().names_from("c", false, true, 9) == Names{"b", "a"});
  CHECK(engine.databases().names_from("bb", true, false, 1) == Names{"c"});
  CHECK(engine.databases().names_from("bb", true, true, 1) == Names{"b"});
}

TEST_CASE("after a restart, the feed of databases begins with each of them") {
  EngineFixture fixture;
  for (const auto* name : {"b", "a", "c"}) fixture.create(name);
  fixture.stop();
  fixture.start();
  fixture.create("later");
  std::vector<std::string> names;
  for (const auto& event : fixture.engine().updates().since(0, 100)) names.push_back(event.database);
  CHECK(names == std::vector<std::string>{"a", "b", "c", "later"});
}

TEST_CASE("a slice ends when its time is over, and the next continues where it ended") {
  EngineFixture fixture;
  auto database = fixture.create("d");
  for (int i = 100; i < 200; ++i) EngineFixture::put(*database, "doc" + std::to_string(i), "{}");
  DocumentScan documents(*database, {});
  std::vector<std::string> found;
  int slices = 0;
  for (auto state = ScanState::more; state == ScanState::more; ++slices) {
    state = *documents.run({1000, ScanBudget::Clock::now()}, [&](const storage::DocumentView& document, const auto&) {
      found.emplace_back(document.id);
      return Visit::next;
    });
  }
  CHECK(slices > 10);
  CHECK(found == ids(*database));
  FeedScan feed_scan(*database, {});
  std::vector<std::string> fed;
  for (auto state = ScanState::more; state == ScanState::more;) {
    state = *feed_scan.run({1000, ScanBudget::Clock::now()}, [&](const storage::FeedRow& row, const auto&) {
      fed.emplace_back(row.id);
      return Visit::next;
    });
  }
  CHECK(fed == found);
}

TEST_CASE("while the catalog names a folder that is not there, nothing is removed") {
  EngineFixture fixture;
  const std::filesystem::path folder = fixture.create("shop")->folder();
  fixture.stop();
  const auto databases = fixture.settings().data_dir / "databases";
  std::filesystem::rename(folder, databases / "0123456789abcdef0123456789abcdef");
  fixture.start();
  std::this_thread::sleep_for(std::chrono::milliseconds{300});
  CHECK(std::filesystem::exists(databases / "0123456789abcdef0123456789abcdef"));
  const auto opened = fixture.engine().open_database("shop");
  REQUIRE_FALSE(opened);
  CHECK(opened.error().code == ErrorCode::corrupted);
}

TEST_CASE("a database that is let go of while the engine ends is closed") {
  std::atomic<int> open{0};
  for (int round = 0; round < 40; ++round) {
    EngineFixture fixture([&](Database&) { return std::make_unique<CountedExtension>(open); });
    auto database = fixture.create("d");
    std::jthread user([held = std::exchange(database, nullptr), round]() mutable {
      std::this_thread::sleep_for(std::chrono::microseconds{50} * round);
      held.reset();
    });
    fixture.engine().shut_down();
    user.join();
    fixture.stop();
    REQUIRE(open == 0);
  }
}

TEST_CASE("a database that is opened or made while the engine ends does not stay open") {
  // Given a database that is not open
  std::atomic<int> open{0};
  EngineFixture fixture([&](Database&) { return std::make_unique<CountedExtension>(open); });
  fixture.create("d");
  fixture.stop();
  fixture.start();
  REQUIRE(open == 0);
  // When jobs that wait behind others open it and make another, after the engine has shut down what was open
  boost::asio::post(fixture.engine().workers().pool(), [&] {
    std::this_thread::sleep_for(std::chrono::milliseconds{200});
    fixture.engine().find_database("d");
    fixture.create("e");
  });
  fixture.engine().shut_down();
  // Then nothing is left open
  CHECK(open == 0);
  fixture.stop();
  fixture.start();
  CHECK(fixture.engine().find_database("e") != nullptr);
}

TEST_CASE("what still waits to be written when the engine ends is answered before it has ended") {
  config::Settings settings;
  settings.compression = config::Compression::none;  // else it waits for a worker first
  EngineFixture fixture({}, settings);
  auto database = fixture.create("d");
  constexpr int write_count = 150;
  int stored = 0;
  {
    boost::asio::io_context requests(1);
    for (int i = 0; i < write_count; ++i) {
      std::vector<storage::DocumentWrite> writes(1);
      writes.front().id = "d" + std::to_string(i);
      writes.front().body = R"({"text":")" + std::string(200'000, 'x') + R"("})";
      boost::asio::co_spawn(
          requests.get_executor(), database->write(std::move(writes)),
          [&](const std::exception_ptr&, const auto& results) { stored += results.front().has_value() ? 1 : 0; });
    }
    requests.poll();
    database.reset();
    fixture.engine().shut_down();
    requests.restart();
    requests.poll();
  }
  CHECK(stored == write_count);
  fixture.stop();
  fixture.start();
  CHECK((*fixture.engine().open_database("d"))->statistics()->document_count == write_count);
}
