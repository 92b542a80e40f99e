#include <catch2/catch.hpp>

#include "find_fixture.h"

using namespace octavo;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
namespace json = boost::json;

namespace {

json::value rows(FindFixture& fixture, std::string_view request, std::string partition = {}) {
  const auto reply = fixture.find(request, std::move(partition));
  return reply.contains("docs") ? reply.at("docs") : json::value(reply);
}

/// The rows as they are written: numbers are not read on the way.
std::string text_of(FindFixture& fixture, std::string_view request) {
  auto prepared = octavo::tests::run_task(query::prepare_find(fixture.indexes(), request, "", false));
  query::FindExecution execution(fixture.database, *prepared, "", 100'000);
  REQUIRE(execution.run({10}));
  return std::move(execution.output());
}

std::string error_word(FindFixture& fixture, std::string_view request) {
  const auto reply = fixture.find(request);
  return reply.contains("error") ? std::string(reply.at("error").as_string()) : "no error: " + json::serialize(reply);
}

void put_orders(FindFixture& fixture) {
  EngineFixture::put(*fixture.database, "1", R"({"city":"Bonn","price":10,"on":{"year":2019}})");
  EngineFixture::put(*fixture.database, "2", R"({"city":"Aachen","price":2.5,"on":{"year":2019}})");
  EngineFixture::put(*fixture.database, "3", R"({"city":"Bonn","price":30,"on":{"year":2020}})");
  EngineFixture::put(*fixture.database, "4", R"({"price":1,"on":{"year":2020}})");
  EngineFixture::put(*fixture.database, "5", R"({"city":"Bonn","price":"free","on":{"year":2020}})");
}

}  // namespace

TEST_CASE("groups come in the order of their fields, the one that lacks the field first") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{},"group":["city"],"aggregate":{"sum":{"$sum":"price"},"n":{"$count":true}}})") ==
        json::parse(R"([{"sum":1,"n":1},{"city":"Aachen","sum":2.5,"n":1},{"city":"Bonn","sum":40,"n":3}])"));
}

TEST_CASE("nested group fields are nested in the rows") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{"city":"Bonn"},"group":["on.year","city"],"aggregate":{"n":{"$count":true}}})") ==
        json::parse(R"([{"on":{"year":2019},"city":"Bonn","n":1},{"on":{"year":2020},"city":"Bonn","n":2}])"));
}

TEST_CASE("sums and averages take numbers only, counts of a field what is there, extremes every value") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{},"aggregate":{"sum":{"$sum":"price"},"avg":{"$avg":"price"},
                          "cities":{"$count":"city"},"least":{"$min":"price"},"most":{"$max":"price"}}})") ==
        json::parse(R"([{"sum":43.5,"avg":10.875,"cities":4,"least":1,"most":"free"}])"));
}

TEST_CASE("an aggregate of nothing is one row without groups, and no row with them") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{"city":"Rome"},"aggregate":{"s":{"$sum":"price"},"a":{"$avg":"price"},
                          "m":{"$min":"price"},"n":{"$count":true}}})") ==
        json::parse(R"([{"s":0,"a":null,"m":null,"n":0}])"));
  CHECK(rows(fixture, R"({"selector":{"city":"Rome"},"group":["city"],"aggregate":{"n":{"$count":true}}})") ==
        json::array{});
}

TEST_CASE("a sum of integers is exact beyond 64 bits") {
  FindFixture fixture;
  for (const auto* id : {"1", "2", "3"}) EngineFixture::put(*fixture.database, id, R"({"n":9223372036854775807})");
  CHECK(text_of(fixture, R"({"selector":{},"aggregate":{"s":{"$sum":"n"}}})") == R"({"s":27670116110564327421})");
}

TEST_CASE("a sum of unsigned integers of 64 bits is exact, negative ones among them") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"n":18446744073709551615})");
  EngineFixture::put(*fixture.database, "2", R"({"n":9223372036854775809})");
  EngineFixture::put(*fixture.database, "3", R"({"n":-9223372036854775808})");
  CHECK(text_of(fixture, R"({"selector":{},"aggregate":{"s":{"$sum":"n"}}})") == R"({"s":18446744073709551616})");
}

TEST_CASE("a number beyond the doubles is added as the largest, and one too near 0 as 0") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "large", R"({"n":1e400})");
  EngineFixture::put(*fixture.database, "low", R"({"n":-1e400})");
  EngineFixture::put(*fixture.database, "small", R"({"n":1e-400})");
  const auto sum = [&](std::string_view id) {
    return text_of(fixture, R"({"selector":{"_id":")" + std::string(id) +
                                R"("},"aggregate":{"s":{"$sum":"n"},"a":{"$avg":"n"}}})");
  };
  CHECK(sum("large") == R"({"s":1.7976931348623157e+308,"a":1.7976931348623157e+308})");
  CHECK(sum("low") == R"({"s":-1.7976931348623157e+308,"a":-1.7976931348623157e+308})");
  CHECK(sum("small") == R"({"s":0,"a":0})");
  CHECK(text_of(fixture, R"({"selector":{},"aggregate":{"s":{"$sum":"n"}}})") == R"({"s":0})");
}

TEST_CASE("a sum of decimals does not gather rounding errors") {
  FindFixture fixture;
  for (int i = 0; i < 1000; ++i) EngineFixture::put(*fixture.database, std::to_string(i), R"({"n":0.1})");
  CHECK(rows(fixture, R"({"selector":{},"aggregate":{"s":{"$sum":"n"}}})") == json::parse(R"([{"s":100}])"));
}

TEST_CASE("values that the collation holds equal are one group") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"n":1})");
  EngineFixture::put(*fixture.database, "2", R"({"n":1.0})");
  EngineFixture::put(*fixture.database, "3", R"({"n":"1"})");
  CHECK(rows(fixture, R"({"selector":{},"group":"n","aggregate":{"c":{"$count":true}}})") ==
        json::parse(R"([{"n":1,"c":2},{"n":"1","c":1}])"));
}

TEST_CASE("groups are sorted by aggregates and group fields, then cut by skip and limit") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{},"group":["city"],"aggregate":{"sum":{"$sum":"price"}},
                          "sort":[{"sum":"desc"}],"limit":2})") ==
        json::parse(R"([{"city":"Bonn","sum":40},{"city":"Aachen","sum":2.5}])"));
  CHECK(rows(fixture, R"({"selector":{},"group":["city"],"aggregate":{"sum":{"$sum":"price"}},
                          "sort":[{"city":"desc"}],"skip":1,"limit":1})") ==
        json::parse(R"([{"city":"Aachen","sum":2.5}])"));
}

TEST_CASE("distinct gives each combination once; with count, also their number") {
  FindFixture fixture;
  put_orders(fixture);
  CHECK(rows(fixture, R"({"selector":{"city":{"$exists":true}},"distinct":["city"]})") ==
        json::parse(R"([{"city":"Aachen"},{"city":"Bonn"}])"));
  const auto reply = fixture.find(R"({"selector":{},"distinct":["city","on.year"],"count":true,"limit":1})");
  CHECK(reply.at("count") == 4);
  CHECK(reply.at("docs").as_array().size() == 1);
}

TEST_CASE("count tells how many documents match, whatever the limit") {
  FindFixture fixture;
  put_orders(fixture);
  const auto reply = fixture.find(R"({"selector":{"city":"Bonn"},"count":true,"limit":1})");
  CHECK(reply.at("count") == 3);
  CHECK(reply.at("docs") == json::array{});
}

TEST_CASE("counting everything reads no document, and leaves design documents out") {
  FindFixture fixture({true, 2});
  for (int i = 0; i < 5; ++i) EngineFixture::put(*fixture.database, "p:" + std::to_string(i), "{}");
  EngineFixture::put(*fixture.database, "q:1", "{}");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a"})");
  const auto all = fixture.find(R"({"selector":{},"count":true,"execution_stats":true})");
  CHECK(all.at("count") == 6);
  CHECK(all.at("execution_stats").at("total_docs_examined") == 0);
  CHECK(fixture.find(R"({"selector":{},"count":true})", "p").at("count") == 5);
}

TEST_CASE("a covering index is read instead of the documents") {
  FindFixture fixture;
  put_orders(fixture);
  fixture.create_index(R"({"index":{"fields":["city","price"]},"ddoc":"x"})");
  fixture.wait_for_indexes();
  const auto counted = fixture.find(R"({"selector":{"city":"Bonn"},"count":true,"execution_stats":true})");
  CHECK(counted.at("count") == 3);
  CHECK(counted.at("execution_stats").at("total_docs_examined") == 0);
  CHECK(counted.at("execution_stats").at("total_keys_examined") == 3);
  const auto grouped =
      fixture.find(R"({"selector":{},"group":["city"],"aggregate":{"s":{"$sum":"price"}},"execution_stats":true})");
  CHECK(grouped.at("docs").as_array().size() == 3);
  CHECK(grouped.at("execution_stats").at("total_docs_examined") == 0);
}

TEST_CASE("a union counts each document once") {
  FindFixture fixture;
  for (int i = 0; i < 50; ++i) {
    EngineFixture::put(*fixture.database, std::to_string(100 + i),
                       json::serialize(json::object{{"a", i % 5}, {"b", i % 7}}));
  }
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a"})");
  fixture.create_index(R"({"index":{"fields":["b"]},"ddoc":"b"})");
  fixture.wait_for_indexes();
  // 10 with a=1, 7 with b=1, of which 2 have both (1 and 36).
  CHECK(fixture.find(R"({"selector":{"$or":[{"a":1},{"b":1}]},"count":true})").at("count") == 15);
}

TEST_CASE("too many groups are refused, not gathered") {
  config::Settings settings;
  settings.sort_bytes_max = 20'000;
  FindFixture fixture({}, settings);
  for (int i = 0; i < 500; ++i)
    EngineFixture::put(*fixture.database, std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  CHECK(error_word(fixture, R"({"selector":{},"group":["n"],"aggregate":{"c":{"$count":true}}})") == "too_many_groups");
}

TEST_CASE("what cannot be aggregated is told") {
  FindFixture fixture;
  using Case = std::pair<const char*, const char*>;
  const auto [word, members] = GENERATE(values<Case>({
      {"invalid_group", R"("group":[])"},
      {"invalid_group", R"("group":[1])"},
      {"invalid_group", R"("group":["a","a"])"},
      {"invalid_aggregate", R"("aggregate":{})"},
      {"invalid_aggregate", R"("aggregate":[])"},
      {"invalid_aggregate", R"("aggregate":{"x":"$sum"})"},
      {"invalid_aggregate", R"("aggregate":{"x":{"$median":"a"}})"},
      {"invalid_aggregate", R"("aggregate":{"x":{"$sum":true}})"},
      {"invalid_aggregate", R"("aggregate":{"_id":{"$sum":"a"}})"},
      {"invalid_aggregate", R"("group":["a.b"],"aggregate":{"a":{"$sum":"a"}})"},
      {"invalid_distinct", R"("distinct":["a"],"group":["b"])"},
      {"invalid_boolean", R"("count":1)"},
      {"invalid_fields", R"("count":true,"fields":["a"])"},
      {"invalid_key", R"("count":true,"conflicts":true)"},
      {"invalid_sort_field", R"("group":["a"],"sort":["b"])"},
  }));
  INFO(members);
  CHECK(error_word(fixture, std::string(R"({"selector":{},)") + members + "}") == word);
}
