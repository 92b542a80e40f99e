// What happens to an index when its definition comes, changes or goes.

#include <catch2/catch.hpp>

#include "listing_index.h"

using namespace octavo;
using namespace octavo::query;
using namespace octavo::query::listing;

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
