// Indexes that cannot be opened or updated: what their readers are told, and when they are tried again.

#include <catch2/catch.hpp>

#include "listing_index.h"
#include "support/patience.h"

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::listing;
using octavo::tests::patiently;

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

TEST_CASE("an index whose function fails tells its queries, and the others follow the feed") {
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

TEST_CASE("an index whose disk was full is updated by the next query") {
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

TEST_CASE("an index that could not be opened is opened by the next query") {
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
