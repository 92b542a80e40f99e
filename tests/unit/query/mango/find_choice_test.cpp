#include "query/mango/find_choice.h"

#include <catch2/catch.hpp>

#include "find_fixture.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
using octavo::tests::run_task;

namespace {

constexpr std::string_view text_index_request = R"({"index":{},"ddoc":"texts","name":"all","type":"text"})";

// "text" or "plans", or the error's name.
std::string chosen_for(FindFixture& fixture, std::string_view body) {
  const auto choice = run_task(choose_find(fixture.indexes(), fixture.services().feed_indexes(), body, "", false));
  if (!choice) return std::string(choice.error().word);
  return std::holds_alternative<search::TextFind>(*choice) ? "text" : "plans";
}

}  // namespace

TEST_CASE("a text index answers what no other index serves, and what names it") {
  FindFixture fixture;
  for (int i = 0; i < 60; ++i) {
    const std::string number = std::to_string(i);
    EngineFixture::put(*fixture.database, "d" + number, R"({"a":)" + number + R"(,"b":)" + number + "}");
  }
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"numbers","name":"a"})");
  fixture.wait_for_indexes();
  CHECK(chosen_for(fixture, R"({"selector":{"b":1}})") == "plans");
  CHECK(chosen_for(fixture, R"({"selector":{"a":1},"use_index":"texts"})") == "plans");
  CHECK(chosen_for(fixture, R"({"selector":{"$text":"word"}})") == "no_usable_index");

  // The plans that are kept for these requests do not hide the new index.
  fixture.create_index(text_index_request);
  CHECK(chosen_for(fixture, R"({"selector":{"b":1}})") == "text");
  CHECK(chosen_for(fixture, R"({"selector":{"a":1},"use_index":"texts"})") == "text");
  CHECK(chosen_for(fixture, R"({"selector":{"$text":"word"}})") == "text");
  CHECK(chosen_for(fixture, R"({"selector":{"a":1}})") == "plans");
  CHECK(chosen_for(fixture, R"({"selector":{"a":1},"use_index":"numbers"})") == "plans");
  CHECK(chosen_for(fixture, R"({"selector":{"b":1},"allow_fallback":false})") == "no_usable_index");
}

TEST_CASE("a text index is asked for the partition in the URL, also by a request that was planned for another one") {
  FindFixture fixture({true, 1});
  EngineFixture::put(*fixture.database, "p:1", R"({"b":1})");
  EngineFixture::put(*fixture.database, "r:1", R"({"b":1})");
  fixture.create_index(text_index_request);
  for (const std::string partition : {"p", "r", "p"}) {
    const auto choice = run_task(
        choose_find(fixture.indexes(), fixture.services().feed_indexes(), R"({"selector":{"b":1}})", partition, false));
    REQUIRE(choice);
    const auto* text = std::get_if<search::TextFind>(&*choice);
    REQUIRE(text != nullptr);
    CHECK(text->request.partition == partition);
  }
}
