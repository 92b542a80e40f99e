// How much work a query may do for one document, and in one slice.
#include <catch2/catch.hpp>

#include "find_fixture.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
using octavo::tests::ids_of;

namespace {

/// Conditions on each element of `list` that only its last number meets, after `count` comparisons with each.
std::string meets_last(int length, int count) {
  std::string conditions;
  for (int i = 0; i < count; ++i) conditions += R"({"$eq":-1},)";
  return R"("list":{"$elemMatch":{"$or":[)" + conditions + R"({"$eq":)" + std::to_string(length - 1) + "}]}}";
}

std::string list_below(int length) {
  std::string text;
  for (int i = 0; i < length; ++i) text += (i == 0 ? "" : ",") + std::to_string(i);
  return "[" + text + "]";
}

}  // namespace

TEST_CASE("all sides of a union together have one budget for a document", "[find_budget]") {
  // given two sides, each of which takes some 13 of the 20 million comparisons
  FindFixture fixture;
  for (int i = 0; i < 200; ++i) {
    EngineFixture::put(*fixture.database, std::to_string(1000 + i), R"({"a":1000,"b":1000})");
  }
  EngineFixture::put(*fixture.database, "large", R"({"a":1,"b":1,"list":)" + list_below(26'000) + "}");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a"})");
  fixture.create_index(R"({"index":{"fields":["b"]},"ddoc":"b"})");
  fixture.wait_for_indexes();
  const std::string side_a = R"({"a":1,)" + meets_last(26'001, 500) + "}";  // no element meets it
  const std::string side_b = R"({"b":1,)" + meets_last(26'000, 500) + "}";
  const std::string request = R"({"selector":{"$or":[)" + side_a + "," + side_b + "]}}";
  REQUIRE(fixture.explain(request)->plans[0].branches.size() == 2);
  // when only one side is asked for, then it is within the budget
  CHECK(ids_of(fixture.find(R"({"selector":)" + side_b + "}")) == std::vector<std::string>{"large"});
  // when both are, then the document takes too much time
  const auto reply = fixture.find(request);
  REQUIRE(reply.contains("reason"));
  CHECK(std::string(reply.at("reason").as_string()).find("too much time for the document large") != std::string::npos);
}

TEST_CASE("a slice of a query ends after a document that is expensive to match", "[find_budget]") {
  // given documents that take a million comparisons each
  FindFixture fixture;
  for (int i = 0; i < 3; ++i) {
    EngineFixture::put(*fixture.database, std::to_string(i), R"({"list":)" + list_below(2000) + "}");
  }
  const auto prepared = octavo::tests::run_task(
      prepare_find(fixture.indexes(), R"({"selector":{)" + meets_last(2000, 500) + "}}", {}, false));
  REQUIRE(prepared);
  FindExecution execution(fixture.database, *prepared, {}, fixture.engine.settings().sort_bytes_max);
  // when a slice could read them all
  const auto state = execution.run({100});
  // then it reads one
  REQUIRE(state);
  CHECK(*state != partitioning::ScanState::done);
  CHECK(execution.statistics().documents_examined == 1);
}
