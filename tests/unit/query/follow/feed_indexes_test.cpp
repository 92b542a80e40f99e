#include "query/follow/feed_indexes.h"

#include <limits>

#include <catch2/catch.hpp>

#include "../index/expired_documents.h"
#include "listing_index.h"
#include "partitioning/scan.h"
#include "support/dropped_tombstones.h"

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::listing;

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
    orders().fail_to_open["x"] = Error{ErrorCode::disk_full, "full", {}};
  }
  // An index that is not open cannot have read the deletion already.
  lists.restart();
  lists.put("a", "{}", true);
  CHECK(ids_in(lists.current_rows("d", "present")) == IdList{"_design/d", "b"});
  REQUIRE(octavo::tests::drop_tombstones(*lists.database) == 1);
  lists.put("c", "{}");
  {
    const std::lock_guard lock(orders().mutex);
    orders().fail_to_open.clear();
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

TEST_CASE("an index resumes where it was after a restart, and catches up by itself") {
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

TEST_CASE("an index that is opened while its database is deleted lets no other continue") {
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
