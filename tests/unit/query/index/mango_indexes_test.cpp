#include <atomic>
#include <filesystem>
#include <map>
#include <random>
#include <stop_token>
#include <thread>

#include <catch2/catch.hpp>

#include "../mango/find_fixture.h"
#include "expired_documents.h"
#include "query/database/index_check.h"
#include "query/index/index_entry.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
using octavo::tests::run_task;

namespace {

using Rows = std::map<std::string, std::string>;

IndexView view_of(FindFixture& fixture, std::string_view design) {
  const auto catalog = *fixture.indexes().catalog();
  for (const auto& view : catalog->indexes) {
    if (view.definition->design_document == "_design/" + std::string(design)) return view;
  }
  throw std::runtime_error("no such index");
}

Rows rows_of(FindFixture& fixture, const IndexView& view, const std::string& partition = {}) {
  Rows rows;
  auto reader = IndexReader::open(*fixture.database, view, {partition, std::nullopt});
  if (!reader) throw std::runtime_error(reader.error().reason);
  for (auto row = reader->seek(""); row; row = reader->next()) rows.emplace(row->key, row->value);
  return rows;
}

// What the entries should be, from the documents.
Rows expected_rows(FindFixture& fixture, const IndexView& view, const std::string& partition = {}) {
  Rows rows;
  DocumentParser parser;
  partitioning::DocumentRange range;
  if (!partition.empty()) range.partition_key = partition;
  partitioning::DocumentScan scan(*fixture.database, range);
  const auto state = scan.run({1'000'000}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (document.deleted || document.id.starts_with("_design/")) return partitioning::Visit::next;
    std::string key, value;
    const IndexedDocument indexed{*parser.parse(document.body), document.body, document.id, document.revision};
    if (append_index_entry(*view.definition, indexed, key, value)) rows.emplace(key, value);
    return partitioning::Visit::next;
  });
  REQUIRE(state);
  return rows;
}

void wait_until_current(FindFixture& fixture, const IndexView& view) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  REQUIRE(run_task(fixture.indexes().wait_until_current(view.global, fixture.database->watermark(), deadline)));
}

void edit(FindFixture& fixture, std::mt19937& random, const std::string& prefix, int edits) {
  for (int i = 0; i < edits; ++i) {
    std::string id = prefix + std::to_string(random() % 300);
    if (random() % 50 == 0) id += std::string(600, 'x');
    const auto snapshot = *fixture.database->snapshot_for_document(id);
    const auto found = *snapshot.find(id);
    std::optional<storage::Revision> parent;
    if (found && !found->deleted) parent = found->revision;
    std::string body = R"({"a":)" + std::to_string(random() % 20) + R"(,"t":"x)" + std::to_string(random() % 5) + "\"";
    if (random() % 30 == 0) body += R"(,"b":")" + std::string(500 + random() % 100, 'y') + "\"";
    if (random() % 6 == 0) body += R"(,"packed":")" + std::string(1'500, 'z') + "\"";
    body += "}";
    const bool remove = parent && random() % 4 == 0;
    EngineFixture::put(*fixture.database, id, remove ? "{}" : body, parent, remove);
  }
}

std::size_t index_folders(FindFixture& fixture) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(fixture.database->folder())) {
    count += entry.path().filename().string().starts_with("index-") ? 1 : 0;
  }
  return count;
}

}  // namespace

TEST_CASE("local index entries are what the documents say after any edits, before and after building") {
  FindFixture fixture({true, 2});
  std::mt19937 random(7);
  edit(fixture, random, "p:", 300);
  fixture.create_index(R"({"index":{"fields":["a","b"]},"ddoc":"early"})");
  edit(fixture, random, "p:", 300);
  fixture.create_index(
      R"({"index":{"fields":[{"t":"desc"},"_id"],"partial_filter_selector":{"a":{"$gt":7}}},"ddoc":"late"})");
  edit(fixture, random, "p:", 300);
  fixture.wait_for_indexes();
  edit(fixture, random, "p:", 300);
  for (const std::string name : {"early", "late"}) {
    const auto view = view_of(fixture, name);
    CHECK(rows_of(fixture, view, "p") == expected_rows(fixture, view, "p"));
  }
  fixture.restart();
  edit(fixture, random, "p:", 50);
  fixture.wait_for_indexes();
  for (const std::string name : {"early", "late"}) {
    const auto view = view_of(fixture, name);
    CHECK(rows_of(fixture, view, "p") == expected_rows(fixture, view, "p"));
  }
}

TEST_CASE("a dropped local index leaves no rows, and can be created again") {
  FindFixture fixture({true, 1});
  std::mt19937 random(8);
  edit(fixture, random, "p:", 100);
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"x"})");
  fixture.wait_for_indexes();
  const auto view = view_of(fixture, "x");
  const auto design = *(*fixture.database->snapshot_for_document("_design/x")).find("_design/x");
  const auto deleted = EngineFixture::put(*fixture.database, "_design/x", "{}", design->revision, true);
  CHECK((*fixture.indexes().catalog())->indexes.empty());
  const auto rows = [&] {
    const auto snapshot = *fixture.database->snapshot(0);
    auto cursor = snapshot.index_entries();
    const std::string prefix = LocalIndexes::entry_prefix(view.numbers[0], "p");
    const auto row = cursor.seek(prefix);
    return row && row->key.starts_with(prefix);
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (rows() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  CHECK_FALSE(rows());
  CHECK_FALSE(IndexReader::open(*fixture.database, view, {"p", std::nullopt}));
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"x"})");
  fixture.wait_for_indexes();
  const auto again = view_of(fixture, "x");
  CHECK(again.numbers[0] != view.numbers[0]);
  CHECK(rows_of(fixture, again, "p") == expected_rows(fixture, again, "p"));
  // A query that was planned with the dropped index reads the new one, which has the same entries.
  CHECK(rows_of(fixture, view, "p") == expected_rows(fixture, again, "p"));
  (void)deleted;
}

TEST_CASE("a global index follows edits, survives restarts, and forgets purged documents") {
  FindFixture fixture({true, 3});
  std::mt19937 random(9);
  edit(fixture, random, "p:", 200);
  edit(fixture, random, "q:", 200);
  fixture.create_index(R"({"index":{"fields":["a","b"]},"ddoc":"g","partitioned":false})");
  fixture.wait_for_indexes();
  const auto check = [&] {
    const auto view = view_of(fixture, "g");
    wait_until_current(fixture, view);
    CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
  };
  check();
  edit(fixture, random, "q:", 200);
  check();
  fixture.restart();
  edit(fixture, random, "p:", 100);
  check();

  std::vector<storage::PurgeRequest> purges;
  partitioning::DocumentScan scan(*fixture.database, {});
  REQUIRE(scan.run({1'000'000}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (!document.id.starts_with("_design/") && random() % 3 == 0) {
      purges.push_back({std::string(document.id), {}, {document.revision}});
    }
    return partitioning::Visit::next;
  }));
  REQUIRE(run_task(fixture.database->purge(std::move(purges))));
  check();
  edit(fixture, random, "p:", 100);
  check();
}

TEST_CASE("global indexes that are defined while documents are written have the entries of all documents") {
  FindFixture fixture({false, 2});
  std::mt19937 random(14);
  edit(fixture, random, "", 300);
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g0"})");
  const std::vector<std::string> fields{"b", "t", "a\",\"t"};
  {
    const std::jthread writer([&](const std::stop_token& stop) {
      std::mt19937 own(15);
      while (!stop.stop_requested()) edit(fixture, own, "w", 20);
    });
    // Each is built while the others follow, and one of them is dropped and defined again.
    for (std::size_t i = 0; i < fields.size(); ++i) {
      fixture.create_index(R"({"index":{"fields":[")" + fields[i] + R"("]},"ddoc":"g)" + std::to_string(i + 1) +
                           R"("})");
      wait_until_current(fixture, view_of(fixture, "g0"));
      fixture.wait_for_indexes();
      wait_until_current(fixture, view_of(fixture, "g" + std::to_string(i + 1)));
    }
    const auto design = *(*fixture.database->snapshot_for_document("_design/g1")).find("_design/g1");
    EngineFixture::put(*fixture.database, "_design/g1", "{}", design->revision, true);
    CHECK((*fixture.indexes().catalog())->indexes.size() == fields.size());
    fixture.create_index(R"({"index":{"fields":["b"]},"ddoc":"g1"})");
    fixture.wait_for_indexes();
  }
  for (std::size_t i = 0; i <= fields.size(); ++i) {
    const auto view = view_of(fixture, "g" + std::to_string(i));
    wait_until_current(fixture, view);
    CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
  }
  CHECK(fixture.index_problems() == std::vector<std::string>{});
}

TEST_CASE("a global index that was half built when the server died is built again") {
  FindFixture fixture({false, 2});
  std::mt19937 random(10);
  edit(fixture, random, "", 300);
  {
    fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g"})");
    fixture.wait_for_indexes();
  }
  // Puts it back to the middle of its building: some rows, and the state that says so.
  const auto folder = view_of(fixture, "g").global->folder();
  const auto definition = view_of(fixture, "g").definition;
  fixture.database.reset();
  fixture.engine.stop();
  {
    GlobalIndex index(definition, {folder, config::Durability::ephemeral});
    REQUIRE(index.open(1'000'000));
    REQUIRE(index.ready());
    REQUIRE(index.begin_build());
    REQUIRE(index.write(0, [&](storage::WriteTransaction& transaction) {
      return append_sorted(transaction, index.entries(), "stray row", "");
    }));
  }
  fixture.engine.start();
  fixture.database = fixture.engine.engine().find_database("db");
  fixture.wait_for_indexes();
  const auto view = view_of(fixture, "g");
  wait_until_current(fixture, view);
  CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
}

TEST_CASE("a global index that knows more than its database is built again") {
  FindFixture fixture;
  std::mt19937 random(11);
  edit(fixture, random, "", 50);
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g"})");
  fixture.wait_for_indexes();
  const auto view = view_of(fixture, "g");
  wait_until_current(fixture, view);
  const auto folder = view.global->folder();
  const auto definition = view.definition;
  fixture.restart();
  GlobalIndex index(definition, {folder, config::Durability::ephemeral});
  REQUIRE(index.open(10));
  CHECK_FALSE(index.ready());
}

TEST_CASE("the files of a dropped global index go, also when it was dropped by a changed definition") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":1})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g"})");
  fixture.wait_for_indexes();
  CHECK(index_folders(fixture) == 1);
  const auto design = *(*fixture.database->snapshot_for_document("_design/g")).find("_design/g");
  EngineFixture::put(*fixture.database, "_design/g", "{}", design->revision, true);
  REQUIRE(fixture.indexes().catalog());
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (index_folders(fixture) != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  CHECK(index_folders(fixture) == 0);
}

TEST_CASE("a global index that is compacted while documents are written has the entries of all documents") {
  FindFixture fixture;
  std::mt19937 random(21);
  edit(fixture, random, "", 300);
  fixture.create_index(R"({"index":{"fields":["a","b"]},"ddoc":"g"})");
  fixture.wait_for_indexes();
  for (int round = 1; round <= 5; ++round) {
    REQUIRE(fixture.database->compact_indexes("_design/g"));
    do {
      edit(fixture, random, "", 30);
    } while (fixture.database->is_compacting("_design/g"));
    const auto view = view_of(fixture, "g");
    wait_until_current(fixture, view);
    CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
    const auto totals = fixture.database->engine().compactions().totals();
    CHECK(totals.completed == static_cast<std::uint64_t>(round));
    CHECK(totals.failed == 0);
  }
  REQUIRE(fixture.database->compact_indexes("_design/other"));
  CHECK_FALSE(fixture.database->is_compacting());
}

TEST_CASE("a compaction of the database includes its global indexes, also those that no query has used yet") {
  FindFixture fixture({true, 2});
  EngineFixture::put(*fixture.database, "p:1", R"({"a":1})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g","partitioned":false})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"same","partitioned":false})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"local"})");
  fixture.wait_for_indexes();
  fixture.restart();
  REQUIRE(fixture.database->compact());
  const auto deadline = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds(20));
  while (fixture.database->is_compacting() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
  // Two physical partitions, and one index that two design documents define.
  CHECK(fixture.database->engine().compactions().totals().completed == 3);
  const auto view = view_of(fixture, "g");
  CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
}

TEST_CASE("a clean-up removes folders of global indexes that nothing defines, and no others") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":1})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"g"})");
  fixture.wait_for_indexes();
  std::filesystem::create_directories(fixture.database->folder() / "index-old");
  // What the beginning of a build has there.
  const auto view = view_of(fixture, "g");
  const auto draft = fixture.database->folder() / ("index-" + view.definition->identity + ".new");
  std::filesystem::create_directories(draft);
  REQUIRE(fixture.services().clean_up());
  CHECK_FALSE(std::filesystem::exists(fixture.database->folder() / "index-old"));
  CHECK(std::filesystem::exists(draft));
  CHECK(rows_of(fixture, view) == expected_rows(fixture, view));
}

TEST_CASE("building a large global index sorts on disk and keeps every entry") {
  octavo::tests::TemporaryFolder folder;
  SortedRuns runs(folder.path(), 4096);
  std::map<std::string, std::string> expected;
  std::mt19937 random(12);
  for (int i = 0; i < 5000; ++i) {
    std::string key = std::to_string(random()) + "-" + std::to_string(i);
    std::string value(random() % 40, 'v');
    runs.add(key, value);
    expected.emplace(key, value);
    if (runs.full()) REQUIRE(runs.spill());
  }
  REQUIRE(runs.finish());
  auto next = expected.begin();
  while (const auto row = runs.next()) {
    REQUIRE(next != expected.end());
    REQUIRE(row->key == next->first);
    REQUIRE(row->value == next->second);
    ++next;
  }
  CHECK(next == expected.end());
  CHECK_FALSE(runs.error());
}

TEST_CASE("background tasks show progress, rate and the time that is left") {
  ActiveTasks tasks;
  {
    ActiveTask task;
    task.type = "indexer";
    task.database = "db";
    auto handle = tasks.start(task);
    handle.report(25, 100);
    const auto list = tasks.list();
    REQUIRE(list.size() == 1);
    CHECK(list[0].progress_percent() == 25);
    CHECK(list[0].remaining_s() >= 0);
    CHECK(list[0].database == "db");
  }
  CHECK(tasks.list().empty());
}

TEST_CASE("an index has documents that have expired, which another time to live may bring back") {
  const bool partitioned = GENERATE(false, true);
  const std::string partition = partitioned ? "p" : "";
  const std::string prefix = partitioned ? "p:" : "";
  FindFixture fixture({partitioned, 2});
  const auto put = [&](const std::string& id, int a) {
    return EngineFixture::put(*fixture.database, prefix + id, R"({"a":)" + std::to_string(a) + "}").revision;
  };
  for (int i = 0; i < 20; ++i) put("early" + std::to_string(i), i);
  octavo::tests::set_all_expired(*fixture.database, true);
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"by-a"})");
  fixture.wait_for_indexes();
  storage::Revision last;
  for (int i = 0; i < 20; ++i) last = put("late" + std::to_string(i), i);
  std::size_t left = 40;
  if (!partitioned) {
    wait_until_current(fixture, view_of(fixture, "by-a"));
    REQUIRE(run_task(fixture.database->purge({{"late19", {}, {last}}})));
    --left;
  }
  // The same holds for a query that reads only entries.
  const std::string query = R"({"selector":{"a":{"$gte":0}},"fields":["a"],"limit":100})";
  CHECK(fixture.find(query, partition).at("docs").as_array().empty());
  const auto view = view_of(fixture, "by-a");
  if (!partitioned) wait_until_current(fixture, view);
  storage::CheckReport report;
  REQUIRE(run_task(check_indexes(fixture.services(), report)));
  CHECK(report.problems == std::vector<std::string>{});

  octavo::tests::set_all_expired(*fixture.database, false);
  CHECK(fixture.find(query, partition).at("docs").as_array().size() == left);
  CHECK(rows_of(fixture, view, partition) == expected_rows(fixture, view, partition));
}

TEST_CASE("of two threads that put a database's properties in force, neither goes back to older ones") {
  FindFixture fixture;
  // It takes a while to read.
  std::string older = R"({"throughput":1000,"more":[0)";
  for (int i = 0; i < 1'000'000; ++i) older += ",0";
  older += "]}";
  for (int round = 0; round < 3; ++round) {
    REQUIRE(fixture.database->set_definition(older));
    std::atomic<bool> begun{false};
    bool added = false;
    std::thread split([&] {
      begun = true;
      added = fixture.services().partition_added(0).has_value();
    });
    while (!begun) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    const auto set = fixture.database->set_definition(R"({"throughput":2000})");
    split.join();
    REQUIRE(set);
    REQUIRE(added);
    CHECK(fixture.database->meter().budget()->rate() == 2000);
  }
}
