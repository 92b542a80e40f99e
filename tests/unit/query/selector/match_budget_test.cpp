#include "query/selector/match_budget.h"

#include <string>

#include <boost/json.hpp>
#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"

namespace octavo::query {
namespace {

Selector selector_of(const std::string& text) {
  auto selector = Selector::parse(boost::json::parse(text));
  REQUIRE(selector);
  return *std::move(selector);
}

std::string numbers(std::size_t count) {
  std::string text = R"({"n":[)";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(i);
  return text + "]}";
}

std::string many(const std::string& condition, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + condition;
  return text;
}

struct Outcome {
  bool is_match = false;
  bool is_exhausted = false;
};

Outcome match(const std::string& selector, const std::string& document, std::uint64_t steps_max) {
  DocumentParser parser;
  const auto body = parser.parse(document);
  REQUIRE(body);
  MatchBudget budget(steps_max);
  const auto is_match = matches_within(
      selector_of(selector), {.body = *body, .id = "d", .rev = {}, .deleted = false, .attachments = {}}, budget);
  CHECK(is_match.has_value() != budget.is_exhausted());
  return {is_match.value_or(false), budget.is_exhausted()};
}

TEST_CASE("a match within its budget says whether the document matches", "[match_budget]") {
  CHECK(match(R"({"n":{"$elemMatch":{"$eq":99}}})", numbers(100), 1000).is_match);
  CHECK_FALSE(match(R"({"n":{"$elemMatch":{"$eq":100}}})", numbers(100), 1000).is_match);
  CHECK_FALSE(match(R"({"n":{"$elemMatch":{"$eq":100}}})", numbers(100), 1000).is_exhausted);
}

TEST_CASE("conditions on each element use up the budget", "[match_budget]") {
  const std::string selector = R"({"n":{"$elemMatch":{"$or":[)" + many(R"({"$eq":0.5})", 100) + "]}}}";
  CHECK(match(selector, numbers(1000), 10'000).is_exhausted);
}

TEST_CASE("a long $all uses up the budget", "[match_budget]") {
  CHECK(match(R"({"n":{"$all":[)" + many("999", 100) + "]}}", numbers(1000), 10'000).is_exhausted);
}

TEST_CASE("regular expressions use up the budget by the time that they take", "[match_budget]") {
  const std::string text = R"({"n":[)" + many('"' + std::string(2000, 'a') + '"', 500) + "]}";
  CHECK(match(R"({"n":{"$elemMatch":{"$regex":"(a+a+)+[bc]"}}})", text, 1'000'000).is_exhausted);
}

std::string members(std::size_t count) {
  std::string text = "{";
  for (std::size_t i = 0; i < count; ++i) text += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":0";
  return text + "}";
}

TEST_CASE("fields that a large object does not have use up the budget", "[match_budget]") {
  std::string conditions;
  for (std::size_t i = 0; i < 100; ++i) conditions += (i == 0 ? "" : ",") + ("{\"none" + std::to_string(i) + "\":1}");
  CHECK(match(R"({"$or":[)" + conditions + "]}", members(1000), 10'000).is_exhausted);
  CHECK_FALSE(match(R"({"$or":[)" + conditions + "]}", members(10), 10'000).is_exhausted);
}

TEST_CASE("fields at the beginning of a large object cost what they are", "[match_budget]") {
  CHECK_FALSE(match(R"({"$nor":[)" + many(R"({"m3":1})", 100) + "]}", members(1000), 1000).is_exhausted);
}

TEST_CASE("elements by their number, and the sizes of long arrays, use up the budget", "[match_budget]") {
  CHECK(match(R"({"$nor":[)" + many(R"({"n.999":0.5})", 100) + "]}", numbers(1000), 10'000).is_exhausted);
  CHECK(match(R"({"$nor":[)" + many(R"({"n":{"$size":5}})", 100) + "]}", numbers(1000), 10'000).is_exhausted);
}

TEST_CASE("long names of the same length use up the budget by their bytes", "[match_budget]") {
  const std::string name(6400, 'n');
  std::string object = "{";
  for (int i = 0; i < 100; ++i) object += (i == 0 ? "\"" : ",\"") + name + std::to_string(100 + i) + "\":0";
  const std::string selector = R"({"$or":[)" + many("{\"" + name + "xyz\":1}", 100) + "]}";
  CHECK(match(selector, object + "}", 100'000).is_exhausted);
  CHECK_FALSE(match(selector, members(100), 10'000).is_exhausted);  // names of other lengths are passed quickly
}

TEST_CASE("conditions on the document as a whole use up the budget by its size", "[match_budget]") {
  const std::string selector = R"({"$nor":[)" + many(R"({"$eq":1})", 100) + "]}";
  CHECK(match(selector, members(1000), 10'000).is_exhausted);
  CHECK_FALSE(match(selector, members(10), 10'000).is_exhausted);
}

TEST_CASE("long strings use up the budget by the bytes that are compared", "[match_budget]") {
  const std::string text = R"({"n":[)" + many('"' + std::string(6400, 'a') + '"', 100) + "]}";
  const std::string other = '"' + std::string(6399, 'a') + "b\"";
  CHECK(match(R"({"n":{"$elemMatch":{"$eq":)" + other + "}}}", text, 5000).is_exhausted);
  CHECK(match(R"({"n":{"$elemMatch":{"$gt":)" + other + "}}}", text, 5000).is_exhausted);
  CHECK(match(R"({"n":{"$in":[)" + other + "]}}", text, 5000).is_exhausted);
  CHECK_FALSE(match(R"({"n":{"$elemMatch":{"$eq":"b"}}})", text, 1000).is_exhausted);
}

TEST_CASE("long arrays use up the budget by the values that are compared", "[match_budget]") {
  const std::string zeros = "[[" + many("0", 1000) + "]]";
  const std::string ending = "[[" + many("0", 1000) + ",1]]";
  CHECK(match(R"({"n":{"$elemMatch":{"$eq":)" + ending + "}}}", R"({"n":[)" + many(zeros, 100) + "]}", 10'000)
            .is_exhausted);
  CHECK_FALSE(match(R"({"n":{"$elemMatch":{"$eq":[1]}}})", R"({"n":[)" + many(zeros, 100) + "]}", 10'000).is_exhausted);
}

TEST_CASE("the cost of conditions on elements and of regular expressions grows with the document", "[match_budget]") {
  CHECK(cost_grows_with_document(selector_of(R"({"a":{"$elemMatch":{"$gt":5}}})")));
  CHECK(cost_grows_with_document(selector_of(R"({"$or":[{"a":1},{"b":{"$regex":"x"}}]})")));
  CHECK(cost_grows_with_document(selector_of(R"({"a":{"$all":[1,2]}})")));
  CHECK(cost_grows_with_document(selector_of(R"({"a":{"$size":2}})")));
  CHECK(cost_grows_with_document(selector_of(R"({"$or":[)" + many(R"({"a":1})", 17) + "]}")));
  CHECK_FALSE(cost_grows_with_document(selector_of(R"({"a":1,"b":{"$gt":2},"c":{"$in":[1,2]}})")));
}

}  // namespace
}  // namespace octavo::query
