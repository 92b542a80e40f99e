#include "query/view/reducer.h"

#include <initializer_list>
#include <random>

#include <catch2/catch.hpp>

#include "query/view/distinct_estimate.h"

using namespace octavo;
using namespace octavo::query::views;

namespace {

struct SampleRow {
  std::string_view value;
  std::string_view key = "null";
};

std::string state_of(const Reducer& reducer, std::span<const SampleRow> samples) {
  std::vector<ViewRow> rows;
  for (const auto& sample : samples) rows.push_back({{}, std::string_view("d\0\0", 3), sample.key, sample.value});
  const auto state = reducer.reduce(rows);
  REQUIRE(state);
  return *state;
}

/// The reduction of the values at once, and again of them in two parts: both must be the same.
std::string reduction_of(std::string_view function, std::initializer_list<SampleRow> list) {
  const std::vector<SampleRow> samples(list);
  const auto reducer = make_reducer(function, nullptr, 0);
  REQUIRE(reducer);
  const auto whole = (*reducer)->finish(state_of(**reducer, samples));
  const auto text = whole ? *whole : std::string(whole.error().word) + ": " + whole.error().reason;
  for (std::size_t cut = 1; cut < samples.size(); ++cut) {
    const std::string first = state_of(**reducer, std::span(samples).first(cut));
    const std::string second = state_of(**reducer, std::span(samples).subspan(cut));
    const std::vector<std::string_view> parts{first, second};
    const auto merged = (*reducer)->merge(parts);
    REQUIRE(merged);
    const auto value = (*reducer)->finish(*merged);
    CHECK((value ? *value : std::string(value.error().word) + ": " + value.error().reason) == text);
  }
  return text;
}

const std::string sum_reason =
    R"("reason":"The _sum function requires that map values be numbers, arrays of numbers, or objects. Objects cannot be )"
    R"(mixed with other data structures. Objects can be arbitrarily nested, provided that the values for all fields are )"
    R"(themselves numbers, arrays of numbers, or objects.")";

}  // namespace

TEST_CASE("_count counts rows of any value") {
  CHECK(reduction_of("_count", {{"1"}, {"null"}, {R"("x")"}}) == "3");
}

TEST_CASE("_sum adds numbers: whole ones stay whole, fractions have a point") {
  CHECK(reduction_of("_sum", {{"1"}, {"2"}, {"-7"}}) == "-4");
  CHECK(reduction_of("_sum", {{"0.1"}, {"0.2"}}) == "0.30000000000000004");
  CHECK(reduction_of("_sum", {{"1.5"}, {"1.5"}}) == "3.0");
  CHECK(reduction_of("_sum", {{"9007199254740993"}, {"1"}}) == "9007199254740994");
  CHECK(reduction_of("_sum", {{"9223372036854775807"}, {"-1"}}) == "9223372036854775806");
}

TEST_CASE("_sum adds arrays place by place, a number to the first") {
  CHECK(reduction_of("_sum", {{"[1,2]"}, {"[10,20,30]"}}) == "[11,22,30]");
  CHECK(reduction_of("_sum", {{"5"}, {"[1,2]"}, {"1"}}) == "[7,2]");
}

TEST_CASE("_sum adds objects member by member, at any depth") {
  CHECK(reduction_of("_sum", {{R"({"b":1,"a":{"x":2}})"}, {R"({"a":{"x":3,"y":[1]},"c":1})"}}) ==
        R"({"a":{"x":5,"y":[1]},"b":1,"c":1})");
}

TEST_CASE("_sum of what cannot be added says so in place of a value") {
  CHECK(reduction_of("_sum", {{"1"}, {R"("x")"}}) ==
        R"({"error":"builtin_reduce_error",)" + sum_reason + R"(,"caused_by":"x"})");
  CHECK(reduction_of("_sum", {{R"({"a":1})"}, {"2"}}) ==
        R"({"error":"builtin_reduce_error",)" + sum_reason + R"(,"caused_by":2})");
}

TEST_CASE("_sum that does not shrink is refused") {
  std::string many = "{";
  for (int i = 0; i < 1000; ++i) many += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  many += "}";
  const std::vector<SampleRow> alone{{many}};
  const auto reducer = *make_reducer("_sum", nullptr, 0);
  const auto text = state_of(*reducer, alone);
  CHECK(
      text.starts_with(R"({"error":"builtin_reduce_error","reason":"Reduce output must shrink more rapidly: input )"));
  // It stays what it is when others are added.
  const std::vector<std::string_view> states{"{}", text};
  CHECK(*reducer->merge(states) == text);
}

TEST_CASE("_stats of numbers, of arrays, and of statistics made before") {
  CHECK(reduction_of("_stats", {{"1"}, {"2"}, {"3.5"}}) == R"({"sum":6.5,"count":3,"min":1,"max":3.5,"sumsqr":17.25})");
  CHECK(reduction_of("_stats", {{"[1,10]"}, {"[3,-4]"}}) ==
        R"([{"sum":4,"count":2,"min":1,"max":3,"sumsqr":10},{"sum":6,"count":2,"min":-4,"max":10,"sumsqr":116}])");
  CHECK(reduction_of("_stats", {{R"({"sum":10,"count":4,"min":1,"max":5,"sumsqr":30})"}, {"7"}}) ==
        R"({"sum":17,"count":5,"min":1,"max":7,"sumsqr":79})");
}

TEST_CASE("_stats of what is no number is an error of those who ask") {
  CHECK(reduction_of("_stats", {{"1"}, {R"("x")"}}) == R"(invalid_value: non-numeric _stats input: "x")");
  CHECK(reduction_of("_stats", {{R"({"sum":1})"}}) ==
        R"(invalid_value: user _stats input missing required field count ({"sum":1}))");
}

TEST_CASE("_top_N and _bottom_N are the best different values in the order of views") {
  CHECK(reduction_of("_top_3", {{"1"}, {"5"}, {"5"}, {"2"}, {"4"}}) == "[5,4,2]");
  CHECK(reduction_of("_bottom_2", {{"7"}, {R"("a")"}, {"null"}, {"7"}}) == "[null,7]");
  CHECK(!make_reducer("_top_0", nullptr, 0));
  CHECK(!make_reducer("_top_101", nullptr, 0));
  CHECK(!make_reducer("_bottom_x", nullptr, 0));
}

TEST_CASE("_first and _last are the values of the outer rows") {
  CHECK(reduction_of("_first", {{"1"}, {"2"}, {"3"}}) == "1");
  CHECK(reduction_of("_last", {{"1"}, {"2"}, {R"({"a":3})"}}) == R"({"a":3})");
}

TEST_CASE("an unknown built-in function is refused in CouchDB's words") {
  const auto refused = check_reduce("_median");
  REQUIRE(!refused);
  CHECK(refused.error().word == "invalid_design_doc");
  CHECK(refused.error().reason == "`_median` is not a supported reduce function.");
  CHECK(check_reduce("function(k, v) { return 1; }"));
}

TEST_CASE("_approx_count_distinct is nearly exact for few keys, and within some percent for many") {
  CHECK(reduction_of("_approx_count_distinct", {{"1", "\"a\""}, {"1", "\"b\""}, {"1", "\"a\""}, {"1", "[1]"}}) == "3");
  for (const int count : {10, 1000, 20'000, 1'000'000}) {
    DistinctEstimate half, other;
    for (int i = 0; i < count; ++i) {
      half.add("key" + std::to_string(i));
      if (i % 2 == 0) other.add("key" + std::to_string(i));
    }
    std::string state;
    half.append_to(state);
    auto merged = DistinctEstimate::from(state);
    merged.merge(other);
    CHECK(merged.count() == half.count());
    CHECK(static_cast<double>(half.count()) == Approx(count).epsilon(count == 10 ? 0.01 : 0.08));
  }
}
