#include "query/follow/feed_indexes.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "base/jobs/background_jobs.h"
#include "expired_documents.h"
#include "partitioning/scan.h"
#include "query/follow/parallel_work.h"
#include "support/dropped_tombstones.h"
#include "support/engine_fixture.h"
#include "support/patience.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::patiently;
using octavo::tests::run_task;

namespace {

using ListRows = std::map<std::string, std::string>;

/// What tests tell the listings below to do, by their content.
struct Orders {
  std::mutex mutex;
  std::map<std::string, Error> fail;
  std::map<std::string, Error> fail_to_open;
  std::map<std::string, int> opened;  ///< attempts
  std::set<std::string> hold_open;
  std::map<std::string, bool> hold;
  std::set<std::string> deaf;  ///< looks only when it is held no more whether it is to stop
  std::map<std::string, int> applied;
  std::map<std::string, int> at_most;  ///< documents in one call; 0: all
  std::map<std::string, int> scans;    ///< looks at all documents
};
Orders& orders() {
  static Orders all;
  return all;
}

/// An index that keeps all documents, in a JSON file.
class Listing : public FeedIndex {
 public:
  Listing(FeedIndexDefinition definition, FeedIndexOptions options)
      : definition_(std::move(definition)), options_(std::move(options)) {}

  const std::string& identity() const override { return definition_.identity; }
  const std::string& content() const { return definition_.content; }
  ListRows rows() const {
    const std::lock_guard lock(mutex_);
    return rows_;
  }
  Expected<void> open(storage::Sequence) override {
    {
      const std::lock_guard lock(orders().mutex);
      ++orders().opened[content()];
      if (orders().fail_to_open.contains(content())) return std::unexpected(orders().fail_to_open.at(content()));
    }
    while (true) {
      const std::lock_guard lock(orders().mutex);
      if (!orders().hold_open.contains(content())) break;
    }
    std::filesystem::create_directories(options_.folder);
    std::ifstream file(options_.folder / "rows");
    if (!file) return {};
    const auto stored = boost::json::parse(std::string(std::istreambuf_iterator<char>(file), {})).as_object();
    checkpoint_ = stored.at("checkpoint").to_number<std::uint64_t>();
    complete_ = stored.at("complete").to_number<std::uint64_t>();
    purges_ = stored.at("purges").to_number<std::uint64_t>();
    for (const auto& [id, json] : stored.at("rows").as_object()) rows_.emplace(id, json.as_string());
    return {};
  }
  storage::Sequence checkpoint() const override { return checkpoint_; }
  storage::Sequence complete_through() const override { return complete_; }
  std::uint64_t purge_count() const override { return purges_; }
  Expected<std::size_t> apply(const FeedChanges& changes) override {
    auto documents = changes.documents;
    {
      const std::lock_guard lock(orders().mutex);
      if (orders().fail.contains(content())) return std::unexpected(orders().fail.at(content()));
      if (const int most = orders().at_most[content()]; most > 0 && std::cmp_less(most, documents.size())) {
        documents = documents.first(static_cast<std::size_t>(most));
      }
      orders().applied[content()] += static_cast<int>(documents.size());
    }
    while (true) {
      const std::lock_guard lock(orders().mutex);
      if (*options_.stopping && !orders().deaf.contains(content())) return fail(ErrorCode::timeout, "stopped");
      if (!orders().hold[content()]) break;
    }
    if (*options_.stopping) return fail(ErrorCode::timeout, "stopped");
    const std::lock_guard lock(mutex_);
    for (const auto& document : documents) {
      if (document.present) {
        rows_[document.id] = document.json;
      } else {
        rows_.erase(document.id);
      }
    }
    checkpoint_ = std::max<storage::Sequence>(checkpoint_, changes.checkpoint_after(documents.size()));
    if (changes.complete && documents.size() == changes.documents.size()) complete_ = checkpoint_.load();
    write_rows();
    return documents.size();
  }
  storage::Sequence knows_deletions_through() const override {
    return std::max<storage::Sequence>(checkpoint_, scanned_through_);
  }
  Expected<bool> remove_purged(const GoneDocuments& gone, std::size_t) override {
    const std::lock_guard lock(mutex_);
    {
      const std::lock_guard counting(orders().mutex);
      ++orders().scans[content()];
    }
    std::erase_if(rows_, [&](const auto& row) { return *gone.is_gone(row.first); });
    purges_ = gone.purge_count;
    scanned_through_ = gone.watermark;
    write_rows();
    return true;
  }
  std::size_t open_store_count() const override { return 1; }
  std::uint64_t last_used_ms() const override { return 0; }
  std::size_t close_idle(std::uint64_t) override { return 0; }
  void remove_files() override { std::filesystem::remove_all(options_.folder); }

 private:
  void write_rows() {
    boost::json::object rows;
    for (const auto& [id, json] : rows_) rows[id] = json;
    std::ofstream(options_.folder / "rows")
        << boost::json::serialize(boost::json::object{{"checkpoint", checkpoint_.load()},
                                                      {"complete", complete_.load()},
                                                      {"purges", purges_.load()},
                                                      {"rows", std::move(rows)}});
  }
  FeedIndexDefinition definition_;
  FeedIndexOptions options_;
  mutable std::mutex mutex_;
  ListRows rows_;
  std::atomic<storage::Sequence> checkpoint_{0}, complete_{0};
  std::atomic<std::uint64_t> purges_{0};
  std::atomic<storage::Sequence> scanned_through_{0};
};

/// `{"lists":{name: content}}`; contents that begin with `late` are built on demand.
std::vector<FeedIndexDefinition> read_lists(std::string_view id, std::string_view, std::string_view body, bool) {
  std::vector<FeedIndexDefinition> lists;
  const auto design = boost::json::parse(body).as_object();
  if (const auto* members = design.if_contains("lists")) {
    for (const auto& [name, content] : members->as_object()) {
      const std::string text(content.as_string());
      lists.push_back({"of" + text, std::string(id), std::string(name), text, text.starts_with("late")});
    }
  }
  return lists;
}

const std::vector<FeedIndexKind>& list_kinds() {
  static const std::vector<FeedIndexKind> kinds{
      {"list", "lister", read_lists,
       [](const FeedIndexDefinition& definition, FeedIndexOptions options) -> Expected<std::unique_ptr<FeedIndex>> {
         return std::make_unique<Listing>(definition, std::move(options));
       }}};
  return kinds;
}

class ListExtension : public partitioning::DatabaseExtension {
 public:
  explicit ListExtension(partitioning::Database& database) : indexes(database, nullptr, list_kinds()) {}
  void design_documents_changed() override { indexes.design_documents_changed(); }
  void committed() override { indexes.committed(); }
  void shut_down() override { indexes.shut_down(); }
  FeedIndexes indexes;
};

class Lists {
 public:
  explicit Lists(partitioning::CreateDatabaseOptions options = {})
      : engine([](partitioning::Database& one) { return std::make_unique<ListExtension>(one); }) {
    orders().fail.clear();
    orders().fail_to_open.clear();
    orders().opened.clear();
    orders().hold_open.clear();
    orders().hold.clear();
    orders().deaf.clear();
    orders().applied.clear();
    orders().at_most.clear();
    orders().scans.clear();
    database = engine.create("db", options);
  }
  FeedIndexes& indexes() { return dynamic_cast<ListExtension&>(*database->extension()).indexes; }
  FeedIndexView view(std::string_view design, std::string_view name) {
    const auto catalog = *indexes().catalog();
    const auto* found = catalog->find("list", "_design/" + std::string(design), name);
    if (!found) throw std::runtime_error("no such list");
    return *found;
  }
  Expected<void> wait(const std::shared_ptr<FeedIndex>& index, int patience_ms = 20'000) {
    return run_task(
        indexes().wait_until_current(index, database->committed_sequence(),
                                     std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms)));
  }
  ListRows current_rows(std::string_view design, std::string_view name) {
    const auto found = view(design, name);
    const auto waited = wait(found.index);
    if (!waited) throw std::runtime_error(waited.error().reason);
    return dynamic_cast<Listing&>(*found.index).rows();
  }
  void put(std::string id, std::string body, bool deleted = false) {
    const auto snapshot = *database->snapshot_for_document(id);
    const auto found = *snapshot.find(id);
    std::optional<storage::Revision> parent;
    if (found && !found->deleted) parent = found->revision;
    EngineFixture::put(*database, std::move(id), std::move(body), parent, deleted);
  }
  void restart() {
    database.reset();
    engine.stop();
    engine.start();
    database = engine.engine().find_database("db");
  }
  std::vector<std::string> folders() {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(database->folder())) {
      const auto name = entry.path().filename().string();
      if (name.starts_with("list-")) names.push_back(name);
    }
    std::ranges::sort(names);
    return names;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return true;
  }
  static void hold(const std::string& content, bool held) {
    const std::lock_guard lock(orders().mutex);
    orders().hold[content] = held;
  }

  EngineFixture engine;
  std::shared_ptr<partitioning::Database> database;
};

std::vector<std::string> ids_in(const ListRows& rows) {
  std::vector<std::string> all;
  for (const auto& [id, json] : rows) all.push_back(id);
  return all;
}
using IdList = std::vector<std::string>;

}  // namespace

TEST_CASE("an index that follows the feed has what was written before and after its definition") {
  Lists lists({false, 2});
  lists.put("a", R"({"n":1})");
  lists.put("b", R"({"n":2})");
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "a", "b"});
  lists.put("c", "{}");
  lists.put("a", R"({"n":3})");
  lists.put("b", "{}", true);
  const auto rows = lists.current_rows("d", "all");
  CHECK(ids_in(rows) == IdList{"_design/d", "a", "c"});
  const auto document = boost::json::parse(rows.at("a")).as_object();
  CHECK(document.at("_id") == "a");
  CHECK(document.at("_rev").as_string().starts_with("2-"));
  CHECK(document.at("n") == 3);
}

TEST_CASE("an index on demand exists once it was asked for, also after a restart") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"late","other":"x"}})");
  lists.put("_design/e", R"({"lists":{"all":"later"}})");
  lists.put("a", "{}");
  const auto is_there = [&](std::string_view id) {
    return (*lists.indexes().catalog())->find("list", id, "all") != nullptr;
  };
  CHECK(ids_in(lists.current_rows("d", "other")).size() == 3);
  CHECK_FALSE(is_there("_design/d"));
  CHECK(lists.folders() == std::vector<std::string>{"list-ofx"});

  REQUIRE(lists.indexes().demand("_design/d"));
  REQUIRE(lists.indexes().demand("_design/d"));
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "_design/e", "a"});
  CHECK_FALSE(is_there("_design/e"));
  lists.restart();
  CHECK(is_there("_design/d"));
  CHECK_FALSE(is_there("_design/e"));
  lists.put("b", "{}");
  CHECK(ids_in(lists.current_rows("d", "all")).size() == 4);

  lists.put("_design/d", "{}", true);
  CHECK(Lists::soon([&] { return !is_there("_design/d") && lists.folders().empty(); }));
}

TEST_CASE("a purged document leaves an index that follows the feed") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "a"});
  const auto revision = (*(*lists.database->snapshot_for_document("a")).find("a"))->revision;
  REQUIRE(run_task(lists.database->purge({{"a", {}, {revision}}})));
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d"});
}

TEST_CASE("a deletion whose tombstone was dropped reaches an index that was behind, and others look at nothing") {
  Lists lists({false, 2});
  lists.put("_design/d", R"({"lists":{"behind":"x","present":"y"}})");
  lists.put("a", "{}");
  lists.put("b", "{}");
  CHECK(ids_in(lists.current_rows("d", "behind")) == IdList{"_design/d", "a", "b"});
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail["x"] = Error{ErrorCode::io_failure, "no disk", {}};
  }
  lists.put("a", "{}", true);
  CHECK(ids_in(lists.current_rows("d", "present")) == IdList{"_design/d", "b"});
  REQUIRE(octavo::tests::drop_tombstones(*lists.database) == 1);
  lists.put("c", "{}");
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail.clear();
  }
  CHECK(ids_in(lists.current_rows("d", "behind")) == IdList{"_design/d", "b", "c"});
  CHECK(ids_in(lists.current_rows("d", "present")) == IdList{"_design/d", "b", "c"});
  const std::lock_guard lock(orders().mutex);
  CHECK(orders().scans["x"] == 1);
  CHECK(orders().scans["y"] == 0);
}

TEST_CASE("the feed's least reader is the one that is furthest behind and does not fail") {
  Lists lists;
  CHECK(lists.indexes().followed_through() == std::numeric_limits<storage::Sequence>::max());
  lists.put("_design/d", R"({"lists":{"behind":"x","present":"y"}})");
  for (const auto* name : {"behind", "present"}) lists.current_rows("d", name);
  const auto before = lists.database->watermark();
  CHECK(lists.indexes().followed_through() == before);
  {
    const std::lock_guard lock(orders().mutex);
    orders().hold["x"] = true;
  }
  lists.put("a", "{}");
  lists.current_rows("d", "present");
  CHECK(lists.indexes().followed_through() == before);
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail["x"] = Error{ErrorCode::io_failure, "no disk", {}};
    orders().hold["x"] = false;
  }
  lists.put("b", "{}");
  CHECK(Lists::soon([&] { return lists.indexes().followed_through() == lists.database->watermark(); }));
}

TEST_CASE("an index that follows the feed has documents that have expired until they are deleted") {
  Lists lists({false, 2});
  lists.put("a", "{}");
  octavo::tests::set_all_expired(*lists.database, true);
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "a"});
  const auto revision = EngineFixture::put(*lists.database, "b", "{}").revision;
  lists.put("c", "{}");
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "a", "b", "c"});
  // A purge of one has all others looked at.
  REQUIRE(run_task(lists.database->purge({{"b", {}, {revision}}})));
  CHECK(ids_in(lists.current_rows("d", "all")) == IdList{"_design/d", "a", "c"});
}

TEST_CASE("an index goes on where it was after a restart, and catches up by itself") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  for (int i = 0; i < 50; ++i) lists.put("a" + std::to_string(i), "{}");
  CHECK(lists.current_rows("d", "all").size() == 51);
  lists.restart();
  orders().applied.clear();
  lists.put("b", "{}");
  const auto listing = [&] { return dynamic_cast<Listing&>(*lists.view("d", "all").index).rows(); };
  CHECK(Lists::soon([&] { return listing().size() == 52; }));
  CHECK(orders().applied["x"] < 10);
}

TEST_CASE("many documents come in batches, with writes between") {
  Lists lists({false, 3});
  lists.put("_design/d", R"({"lists":{"all":"x","other":"y"}})");
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&lists, writer] {
      for (int i = 0; i < 300; ++i) {
        const auto id = std::to_string(writer) + "-" + std::to_string(i % 120);
        lists.put(id, R"({"n":)" + std::to_string(i) + "}", i % 7 == 0 && i > 120);
      }
    });
  }
  for (int i = 0; i < 30; ++i) {
    const auto sequence = lists.database->committed_sequence();
    const auto index = lists.view("d", "all").index;
    REQUIRE(run_task(lists.indexes().wait_until_current(index, sequence,
                                                        std::chrono::steady_clock::now() + std::chrono::seconds(20))));
  }
  writers.clear();
  ListRows expected;
  partitioning::DocumentScan scan(*lists.database, {});
  REQUIRE(scan.run({100'000}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (!document.deleted) expected.emplace(document.id, document.revision.to_string());
    return partitioning::Visit::next;
  }));
  for (const std::string name : {"all", "other"}) {
    ListRows found;
    for (const auto& [id, text] : lists.current_rows("d", name)) {
      found.emplace(id, boost::json::parse(text).as_object().at("_rev").as_string());
    }
    CHECK(found == expected);
  }
}

TEST_CASE("a changed definition leaves the old index to those who do not wait, until the new one is there") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  CHECK(lists.current_rows("d", "all").size() == 2);
  CHECK(lists.folders() == IdList{"list-ofx"});
  Lists::hold("y", true);
  lists.put("_design/d", R"({"lists":{"all":"y"}})");
  const auto during = [&] {
    const auto found = lists.view("d", "all");
    CHECK(dynamic_cast<Listing&>(*found.index).content() == "y");
    REQUIRE(found.previous);
    CHECK(dynamic_cast<Listing&>(*found.previous).content() == "x");
    CHECK(dynamic_cast<Listing&>(*found.previous).rows().size() == 2);
    CHECK(lists.folders() == IdList{"list-ofx", "list-ofy"});
  };
  SECTION("in one run") {
    during();
  }
  SECTION("also after a restart") {
    CHECK(Lists::soon([&] { return lists.folders().size() == 2; }));
    lists.view("d", "all");
    lists.restart();
    during();
  }
  SECTION("and after another change, before the new one was ever there") {
    lists.put("_design/d", R"({"lists":{"all":"z"}})");
    const auto found = lists.view("d", "all");
    CHECK(dynamic_cast<Listing&>(*found.index).content() == "z");
    if (found.previous) CHECK(dynamic_cast<Listing&>(*found.previous).content() == "x");
    lists.put("_design/d", R"({"lists":{"all":"y"}})");
  }
  Lists::hold("y", false);
  CHECK(lists.current_rows("d", "all").size() == 2);
  CHECK(Lists::soon([&] { return lists.view("d", "all").previous == nullptr; }));
  CHECK(Lists::soon([&] { return lists.folders() == IdList{"list-ofy"}; }));
}

TEST_CASE("the files of an index go when nothing defines it, and no reader is left") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  lists.current_rows("d", "all");
  auto reader = lists.view("d", "all").index;
  lists.put("_design/d", "{}", true);
  CHECK((*lists.indexes().catalog())->indexes.empty());
  CHECK(lists.folders() == IdList{"list-ofx"});
  reader.reset();
  CHECK(Lists::soon([&] { return lists.folders().empty(); }));
}

TEST_CASE("two design documents that define the same share one index") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("_design/e", R"({"lists":{"every":"x"}})");
  CHECK(lists.view("d", "all").index == lists.view("e", "every").index);
  lists.put("_design/d", "{}", true);
  CHECK(lists.current_rows("e", "every").size() == 1);
}

TEST_CASE("folders that nothing defines are removed at the start, and by a clean-up") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.current_rows("d", "all");
  std::filesystem::create_directories(lists.database->folder() / "list-ofold");
  REQUIRE(lists.indexes().clean_up());
  CHECK(lists.folders() == IdList{"list-ofx"});
  std::filesystem::create_directories(lists.database->folder() / "list-ofold");
  std::filesystem::create_directories(lists.database->folder() / "other-folder");
  lists.restart();
  lists.view("d", "all");
  CHECK(lists.folders() == IdList{"list-ofx"});
  CHECK(std::filesystem::exists(lists.database->folder() / "other-folder"));
}

TEST_CASE("an index that cannot be opened now keeps its files") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  lists.current_rows("d", "all");
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open["x"] = Error{ErrorCode::overloaded, "Too many open files.", {}};
  }
  lists.restart();
  REQUIRE(lists.view("d", "all").failure);
  CHECK(lists.folders() == IdList{"list-ofx"});
  REQUIRE(lists.indexes().clean_up());
  CHECK(lists.folders() == IdList{"list-ofx"});
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open.clear();
    orders().applied.clear();
  }
  CHECK(Lists::soon([&] { return !lists.view("d", "all").failure; }));
  CHECK(lists.current_rows("d", "all").size() == 2);
  CHECK(orders().applied["x"] == 0);  // nothing was built again
}

TEST_CASE("an index that takes only some of the documents gets the others later") {
  Lists lists({false, 3});
  {
    const std::lock_guard lock(orders().mutex);
    orders().at_most["x"] = 3;
  }
  std::vector<std::string> expected{"_design/d"};
  for (int i = 100; i < 180; ++i) {
    expected.push_back("a" + std::to_string(i));
    lists.put(expected.back(), "{}");
  }
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  CHECK(ids_in(lists.current_rows("d", "all")) == expected);
  std::vector<std::jthread> writers;
  for (int writer = 0; writer < 3; ++writer) {
    writers.emplace_back([&lists, writer] {
      for (int i = 0; i < 60; ++i) lists.put(std::to_string(writer) + "-" + std::to_string(i % 20), "{}");
    });
  }
  for (int i = 0; i < 10; ++i) lists.current_rows("d", "all");
  writers.clear();
  CHECK(lists.current_rows("d", "all").size() == 81 + 60);
}

TEST_CASE("a function that failed is tried again soon when documents have changed") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail["x"] = Error{ErrorCode::function_stopped, "too slow", "resource_limit"};
  }
  // Until it would be left alone for long.
  for (int i = 0; i < 2; ++i) {
    lists.put("a", "{}");
    REQUIRE(!lists.wait(lists.view("d", "all").index));
  }
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail.clear();
  }
  lists.put("a", "{}", true);
  const auto before = std::chrono::steady_clock::now();
  CHECK(lists.current_rows("d", "all").size() == 1);
  CHECK(std::chrono::steady_clock::now() - before < patiently(std::chrono::seconds(4)));
}

TEST_CASE("the timers of background jobs end with their owner") {
  boost::asio::thread_pool pool(2);
  std::atomic<int> runs{0};
  BackgroundJobs jobs(pool);
  jobs.post_after(std::chrono::milliseconds(1), [&] { ++runs; });
  CHECK(Lists::soon([&] { return runs == 1; }));
  jobs.post_after(std::chrono::hours(1), [&] { ++runs; });
  jobs.stop();
  jobs.post_after(std::chrono::hours(1), [&] { ++runs; });
  const auto before = std::chrono::steady_clock::now();
  pool.join();
  CHECK(std::chrono::steady_clock::now() - before < patiently(std::chrono::seconds(10)));
  CHECK(runs == 1);
}

TEST_CASE("an index whose function fails tells its queries, and the others go on") {
  Lists lists;
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail["bad"] = Error{ErrorCode::function_stopped, "too slow", "resource_limit"};
  }
  lists.put("_design/d", R"({"lists":{"bad":"bad","good":"good"}})");
  lists.put("a", "{}");
  const auto waited = lists.wait(lists.view("d", "bad").index);
  REQUIRE(!waited);
  CHECK(waited.error().word == "resource_limit");
  CHECK(lists.current_rows("d", "good").size() == 2);
  // It may have been tried before all was written.
  CHECK(!lists.wait(lists.view("d", "bad").index));
  // The next query is not made to wait for the same failure.
  const auto before = std::chrono::steady_clock::now();
  CHECK(!lists.wait(lists.view("d", "bad").index));
  CHECK(std::chrono::steady_clock::now() - before < patiently(std::chrono::milliseconds(1900)));
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail.clear();
  }
  CHECK(Lists::soon([&] { return lists.wait(lists.view("d", "bad").index).has_value(); }));
}

TEST_CASE("an index whose disk was full is updated as soon as somebody asks") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.current_rows("d", "all");
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail["x"] = Error{ErrorCode::disk_full, "full", {}};
  }
  lists.put("a", "{}");
  const auto waited = lists.wait(lists.view("d", "all").index);
  REQUIRE(!waited);
  CHECK(waited.error().code == ErrorCode::disk_full);
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail.clear();
  }
  CHECK(lists.current_rows("d", "all").size() == 2);
}

TEST_CASE("an index that could not be opened is opened as soon as somebody asks") {
  Lists lists;
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open["x"] = Error{ErrorCode::disk_full, "full", {}};
  }
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  const auto refused = lists.view("d", "all");
  CHECK(!refused.index);
  REQUIRE(refused.failure);
  CHECK(refused.failure->code == ErrorCode::disk_full);
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open.clear();
  }
  CHECK(lists.current_rows("d", "all").size() == 1);
}

TEST_CASE("a definition that makes no sense is not tried again and again") {
  Lists lists;
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open["x"] = Error{ErrorCode::bad_request, "nonsense", {}};
  }
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  Lists::soon([&] { return lists.view("d", "all").failure.has_value(); });
  const auto attempts = [] {
    const std::lock_guard lock(orders().mutex);
    return orders().opened["x"];
  };
  const int before = attempts();
  for (int i = 0; i < 5; ++i) CHECK(lists.view("d", "all").failure->reason == "nonsense");
  CHECK(attempts() <= before + 1);  // the load that the write asked for may come last
}

TEST_CASE("one index that takes long does not hold up another, nor the end of the server") {
  Lists lists;
  Lists::hold("slow", true);
  lists.put("_design/d", R"({"lists":{"slow":"slow","fast":"fast"}})");
  lists.put("a", "{}");
  CHECK(lists.current_rows("d", "fast").size() == 2);
  const auto waited = lists.wait(lists.view("d", "slow").index, 50);
  REQUIRE(!waited);
  CHECK(waited.error().code == ErrorCode::timeout);
  lists.restart();
  CHECK(lists.current_rows("d", "fast").size() == 2);
  Lists::hold("slow", false);
  CHECK(lists.current_rows("d", "slow").size() == 2);
}

TEST_CASE("work in parallel is done once each, and ends at the first error or when stopped") {
  boost::asio::thread_pool pool(3);
  std::atomic<bool> stopping{false};
  std::vector<std::atomic<int>> calls(1000);
  REQUIRE(work_in_parallel(&pool, calls.size(), stopping, [&](std::size_t i) -> Expected<void> {
    ++calls[i];
    return {};
  }));
  CHECK(std::ranges::all_of(calls, [](const auto& count) { return count == 1; }));
  constexpr std::size_t piece_count = 1'000'000;
  std::atomic<std::size_t> done{0};
  const auto failed = work_in_parallel(&pool, piece_count, stopping, [&](std::size_t i) -> Expected<void> {
    ++done;
    if (i == 3) return fail(ErrorCode::conflict, "three");
    return {};
  });
  REQUIRE(!failed);
  CHECK(failed.error().reason == "three");
  CHECK(done < piece_count);
  stopping = true;
  const auto stopped = work_in_parallel(&pool, 10, stopping, [&](std::size_t) -> Expected<void> { return {}; });
  REQUIRE(!stopped);
  CHECK(stopped.error().code == ErrorCode::timeout);
  CHECK(work_in_parallel(&pool, 0, stopping, [&](std::size_t) -> Expected<void> { return {}; }));
  pool.join();
}

TEST_CASE("work in parallel that has enough tells how much is done, without a gap") {
  boost::asio::thread_pool pool(3);
  const std::atomic<bool> stopping{false};
  for (auto* const helpers : {&pool, static_cast<boost::asio::thread_pool*>(nullptr)}) {
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<int> done{0};
    const auto work = [&](std::size_t i) -> Expected<void> {
      ++calls[i];
      ++done;
      return {};
    };
    const auto count = work_in_parallel(helpers, calls.size(), stopping, work, [&] { return done >= 100; });
    REQUIRE(count);
    // A thread that is slow with a piece it took holds the count there: only one thread alone comes exactly as far.
    if (helpers == nullptr) CHECK(*count == 100);
    CHECK(*count > 0);
    CHECK(*count < calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK((i < *count ? calls[i] == 1 : calls[i] <= 1));
    // One is always done.
    const auto one = work_in_parallel(helpers, calls.size(), stopping, work, [] { return true; });
    REQUIRE(one);
    CHECK(*one == 1);
  }
  pool.join();
}

TEST_CASE("an index that is opened while its database goes lets no other go on") {
  Lists lists;
  lists.put("_design/d", R"({"lists":{"all":"x"}})");
  lists.put("a", "{}");
  REQUIRE(lists.current_rows("d", "all").size() == 2);
  const auto index = lists.view("d", "all").index;
  int applied = 0;
  {
    const std::lock_guard lock(orders().mutex);
    orders().hold["x"] = true;
    orders().deaf.insert("x");
    orders().hold_open.insert("y");
    applied = orders().applied["x"];
  }
  const auto told = [](const auto& condition) {
    return Lists::soon([&] {
      const std::lock_guard lock(orders().mutex);
      return condition();
    });
  };
  lists.put("b", "{}");
  REQUIRE(told([&] { return orders().applied["x"] > applied; }));
  lists.put("_design/c", R"({"lists":{"all":"y"}})");  // opened before it is the other one's turn
  REQUIRE(told([] { return orders().opened["y"] == 1; }));
  {
    const std::jthread going([&] { lists.indexes().shut_down(); });
    CHECK(Lists::soon([&] {
      const auto waited = lists.wait(index, 10);
      return !waited && waited.error().code == ErrorCode::not_found;
    }));
    {
      const std::lock_guard lock(orders().mutex);
      orders().hold_open.clear();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Lists::hold("x", false);
  }
  CHECK_FALSE(dynamic_cast<Listing&>(*index).rows().contains("b"));
}
