// Query plans as Azure Cosmos DB makes them for its clients, and rewritten queries that can be run.

#include "query/sql/run/client_merge_plan.h"

#include <catch2/catch.hpp>

#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

/// Ranges are named after their values.
sql::ContainerKey key_of(std::vector<std::vector<std::string>> paths) {
  sql::ContainerKey key;
  key.paths = std::move(paths);
  key.range_of = [count = key.paths.size()](std::span<const json::value> values) {
    std::string text;
    for (const auto& value : values) text += json::serialize(value);
    return sql::ContainerKey::Range{text, values.size() == count ? text : text + "FF", values.size() == count};
  };
  return key;
}

json::object plan_of(std::string_view text, std::vector<std::vector<std::string>> paths = {{"key"}},
                     std::vector<sql::SqlParameter> parameters = {}) {
  const auto made = sql::client_merge_plan(*parse_sql(text, std::move(parameters)), key_of(std::move(paths)));
  if (!made) return {{"error", made.error().message}};
  return *made;
}

std::string rewritten(std::string_view text) {
  const auto made = plan_of(text);
  if (made.contains("error")) return std::string(made.at("error").as_string());
  const std::string query(made.at("queryInfo").at("rewrittenQuery").as_string());
  // What is sent to a partition must be a query, too.
  if (!query.empty()) {
    std::string sent = query;
    constexpr std::string_view placeholder = "{documentdb-formattableorderbyquery-filter}";
    if (const auto at = sent.find(placeholder); at != std::string::npos) sent.replace(at, placeholder.size(), "true");
    parse_sql(sent);
  }
  return query;
}

std::string info_of(std::string_view text, std::string_view member) {
  return json::serialize(plan_of(text).at("queryInfo").at(member));
}

std::string ranges_of(std::string_view text, std::vector<std::vector<std::string>> paths = {{"key"}}) {
  std::string out;
  const auto made = plan_of(text, std::move(paths));
  for (const auto& range : made.at("queryRanges").as_array()) {
    const bool inclusive = range.at("isMaxInclusive").as_bool();
    out += "[" + std::string(range.at("min").as_string()) + "," + std::string(range.at("max").as_string()) +
           (inclusive ? "]" : ")");
  }
  return out;
}

}  // namespace

TEST_CASE("a plain query is sent to the partitions as it is") {
  const auto made = plan_of("SELECT * FROM c WHERE c.x = 1");
  CHECK(
      json::serialize(made) ==
      R"({"partitionedQueryExecutionInfoVersion":2,"queryInfo":{"distinctType":"None","top":null,"offset":null,)"
      R"("limit":null,"orderBy":[],"orderByExpressions":[],"groupByExpressions":[],"groupByAliases":[],"aggregates":[],)"
      R"("groupByAliasToAggregateType":{},"rewrittenQuery":"","hasSelectValue":false,"hasNonStreamingOrderBy":false,)"
      R"("dCountInfo":null},"queryRanges":[{"min":"","max":"FF","isMinInclusive":true,"isMaxInclusive":false}]})");
  CHECK_FALSE(sql::needs_client_merge_plan(*parse_sql("SELECT * FROM c")));
  CHECK(sql::needs_client_merge_plan(*parse_sql("SELECT TOP 1 * FROM c")));
}

TEST_CASE("ORDER BY asks for the items' order and place") {
  CHECK(rewritten("SELECT * FROM Root r ORDER BY r.blah") ==
        "SELECT r._rid, [{\"item\": r.blah}] AS orderByItems, r AS payload\nFROM Root AS r\n"
        "WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r.blah");
  CHECK(rewritten("SELECT * FROM Root r WHERE r.x IN (1, 2) ORDER BY r.key DESC") ==
        "SELECT r._rid, [{\"item\": r.key}] AS orderByItems, r AS payload\nFROM Root AS r\n"
        "WHERE ((r.x IN (1, 2)) AND ({documentdb-formattableorderbyquery-filter}))\nORDER BY r.key DESC");
  CHECK(rewritten("SELECT TOP 10 c.blah, c.blah2 FROM Root c ORDER BY c.key ASC, c.b") ==
        "SELECT TOP 10 c._rid, [{\"item\": c.key}, {\"item\": c.b}] AS orderByItems, {\"blah\": c.blah, \"blah2\": "
        "c.blah2} "
        "AS payload\nFROM Root AS c\nWHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY c.key ASC, c.b");
  CHECK(rewritten("SELECT VALUE c.blah FROM Root c ORDER BY c.key") ==
        "SELECT c._rid, [{\"item\": c.key}] AS orderByItems, c.blah AS payload\nFROM Root AS c\n"
        "WHERE (({documentdb-formattableorderbyquery-filter}) AND IS_DEFINED(c.blah))\nORDER BY c.key");
  CHECK(rewritten("SELECT r[0] FROM r ORDER BY r.key") ==
        "SELECT r._rid, [{\"item\": r.key}] AS orderByItems, {\"$1\": r[0]} AS payload\nFROM r\n"
        "WHERE ({documentdb-formattableorderbyquery-filter})\nORDER BY r.key");
  CHECK(rewritten("SELECT VALUE t FROM t IN c.tags ORDER BY t").starts_with("SELECT c._rid, [{\"item\": t}]"));
  CHECK(rewritten("SELECT * FROM c ORDER BY c.a OFFSET 5 LIMIT 10").ends_with("ORDER BY c.a\nOFFSET 0 LIMIT 15"));
  CHECK(info_of("SELECT * FROM c ORDER BY c.a DESC, c.b", "orderBy") == R"(["Descending","Ascending"])");
  CHECK(info_of("SELECT * FROM c ORDER BY c.a DESC, c.b", "orderByExpressions") == R"(["c.a","c.b"])");
  // One value of the partition key: one partition sorts all there is.
  CHECK(rewritten("SELECT * FROM c WHERE c.key = 'k' ORDER BY c.a OFFSET 1 LIMIT 2").empty());
  CHECK(info_of("SELECT * FROM c WHERE c.key = 'k' ORDER BY c.a OFFSET 1 LIMIT 2", "orderBy") == "[]");
}

TEST_CASE("what partitions cannot put together has no plan") {
  CHECK(rewritten("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT c.k FROM c)") ==
        "The distinct results of a subquery in FROM cannot be merged by clients.");
}

TEST_CASE("aggregates ask for what can be put together") {
  CHECK(rewritten("SELECT VALUE AVG(c.blah) FROM c") ==
        "SELECT VALUE [{\"item\": {\"sum\": SUM(c.blah), \"count\": COUNT(c.blah)}}]\nFROM c");
  CHECK(rewritten("SELECT VALUE MIN(c.blah + 1) FROM c WHERE c.key = 1") ==
        "SELECT VALUE [{\"item\": MIN((c.blah + 1)), \"item2\": {\"min\": MIN((c.blah + 1)), \"count\": COUNT((c.blah "
        "+ 1))}}]\n"
        "FROM c\nWHERE (c.key = 1)");
  CHECK(rewritten("SELECT VALUE COUNT(1) FROM c OFFSET 1 LIMIT 2") == "SELECT VALUE [{\"item\": COUNT(1)}]\nFROM c");
  CHECK(rewritten("SELECT SUM(c.blah) FROM c") == "SELECT {\"$1\": {\"item\": SUM(c.blah)}} AS payload\nFROM c");
  CHECK(info_of("SELECT VALUE MAX(c.x) FROM c", "aggregates") == R"(["Max"])");
  CHECK(info_of("SELECT AVG(c.x) AS mean FROM c", "groupByAliasToAggregateType") == R"({"mean":"Average"})");
  CHECK(info_of("SELECT AVG(c.x) AS mean FROM c", "aggregates") == "[]");
  CHECK(rewritten("SELECT VALUE FLOOR(AVG(c.x)) FROM c") ==
        "Compositions of aggregates and other expressions are not allowed.");
}

TEST_CASE("GROUP BY asks for the groups' values beside their results") {
  CHECK(rewritten("SELECT VALUE c.age FROM c GROUP BY c.age") ==
        "SELECT [{\"item\": c.age}] AS groupByItems, c.age AS payload\nFROM c\nGROUP BY c.age");
  CHECK(rewritten("SELECT VALUE AVG(c.age) FROM c GROUP BY c.age") ==
        "SELECT [{\"item\": c.age}] AS groupByItems, [{\"item\": {\"sum\": SUM(c.age), \"count\": COUNT(c.age)}}] AS "
        "payload\n"
        "FROM c\nGROUP BY c.age");
  CHECK(
      rewritten(
          "SELECT UPPER(c.name) AS name, Avg(c.income) AS income FROM c GROUP BY UPPER(c.name) OFFSET 1 LIMIT 2") ==
      "SELECT [{\"item\": UPPER(c.name)}] AS groupByItems, {\"name\": UPPER(c.name), \"income\": {\"item\": {\"sum\": "
      "SUM(c.income), \"count\": COUNT(c.income)}}} AS payload\nFROM c\nGROUP BY UPPER(c.name)");
  CHECK(info_of("SELECT c.team, COUNT(1) AS n FROM c GROUP BY c.team", "groupByAliasToAggregateType") ==
        R"({"team":null,"n":"Count"})");
  CHECK(info_of("SELECT c.team, COUNT(1) AS n FROM c GROUP BY c.team", "groupByAliases") == R"(["team","n"])");
  CHECK(info_of("SELECT c.team FROM c GROUP BY c.team, c.x", "groupByExpressions") == R"(["c.team","c.x"])");
}

TEST_CASE("DISTINCT, TOP and OFFSET LIMIT") {
  CHECK(info_of("SELECT DISTINCT c.blah FROM c", "distinctType") == R"("Unordered")");
  CHECK(info_of("SELECT DISTINCT VALUE c.blah FROM c ORDER BY c.blah", "distinctType") == R"("Ordered")");
  CHECK(rewritten("SELECT DISTINCT c.blah FROM c").empty());
  CHECK(rewritten("SELECT DISTINCT TOP 5 VALUE c.name FROM c") == "SELECT DISTINCT VALUE c.name\nFROM c");
  CHECK(rewritten("SELECT DISTINCT *  FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2") ==
        "SELECT DISTINCT *\nFROM c\nWHERE (c.key = 5)");
  CHECK(rewritten("SELECT TOP 5 * FROM c").empty());
  CHECK(info_of("SELECT TOP 5 * FROM c", "top") == "5");
  CHECK(rewritten("SELECT * FROM c WHERE c.blah = 5 OFFSET 1 LIMIT 2") ==
        "SELECT *\nFROM c\nWHERE (c.blah = 5)\nOFFSET 0 LIMIT 3");
  CHECK(info_of("SELECT * FROM c OFFSET 1 LIMIT 2", "offset") == "1");
  CHECK(rewritten("SELECT * FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2").empty());
  CHECK(info_of("SELECT * FROM c WHERE c.key = 5 OFFSET 1 LIMIT 2", "limit") == "null");
}

TEST_CASE("values of the partition key in WHERE name the partitions") {
  CHECK(ranges_of("SELECT * FROM c") == "[,FF)");
  CHECK(ranges_of("SELECT * FROM c WHERE c.key = 'k' AND c.x > 1") == R"(["k","k"])");
  CHECK(ranges_of("SELECT * FROM c WHERE 5 = c.key") == "[5E0,5E0]");
  CHECK(ranges_of("SELECT * FROM c WHERE c.key IN (true, null, true)") == "[null,null][true,true]");
  CHECK(ranges_of("SELECT * FROM c WHERE c.key = 'a' OR c.x = 1") == "[,FF)");
  CHECK(ranges_of("SELECT * FROM c WHERE c.key > 5") == "[,FF)");
  CHECK(ranges_of("SELECT * FROM c WHERE c.key = []") == "[,FF)");
  CHECK(ranges_of("SELECT * FROM c WHERE c.a.b = 'x'", {{"a", "b"}}) == R"(["x","x"])");
  CHECK(ranges_of("SELECT * FROM c WHERE c.b = 2 AND c.a = 'x'", {{"a"}, {"b"}}) == R"(["x"2E0,"x"2E0])");
  CHECK(ranges_of("SELECT * FROM c WHERE c.a = 'x'", {{"a"}, {"b"}}) == R"(["x","x"FF))");
  CHECK(ranges_of("SELECT * FROM c WHERE c.b = 2", {{"a"}, {"b"}}) == "[,FF)");
  CHECK(ranges_of("SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.key = 'k'") == R"(["k","k"])");
}

TEST_CASE("rewritten queries give the rows that clients put together") {
  SqlFixture db;
  db.put("a", R"({"t":"x","v":1})");
  db.put("b", R"({"t":"x","v":5})");
  db.put("c", R"({"t":"y"})");
  CHECK(db.ask("SELECT VALUE [{\"item\": MIN(c.v), \"item2\": {\"min\": MIN(c.v), \"count\": COUNT(c.v)}}]\nFROM c") ==
        R"([[{"item":1,"item2":{"min":1,"count":2}}]])");
  CHECK(db.ask("SELECT VALUE [{\"item\": MIN(c.v), \"item2\": {\"min\": MIN(c.v), \"count\": COUNT(c.v)}}]\nFROM c "
               "WHERE false") == R"([[{"item2":{"count":0}}]])");
  CHECK(db.ask("SELECT VALUE [{\"item\": {\"sum\": SUM(c.v), \"count\": COUNT(c.v)}}] FROM c WHERE false") ==
        R"([[{"item":{"sum":0,"count":0}}]])");
  CHECK(db.ask("SELECT [{\"item\": c.t}] AS groupByItems, {\"t\": c.t, \"n\": {\"item\": COUNT(1)}} AS payload FROM c "
               "GROUP BY c.t") == R"([{"groupByItems":[{"item":"x"}],"payload":{"t":"x","n":{"item":2}}},)"
                                  R"({"groupByItems":[{"item":"y"}],"payload":{"t":"y","n":{"item":1}}}])");
  CHECK(
      db.ask(
          "SELECT c._rid, [{\"item\": c.v}] AS orderByItems, c.t AS payload FROM c WHERE ((true) AND IS_DEFINED(c.t)) "
          "ORDER BY c.v DESC") ==
      R"([{"orderByItems":[{"item":5}],"payload":"x"},{"orderByItems":[{"item":1}],"payload":"x"},)"
      R"({"orderByItems":[{}],"payload":"y"}])");
}
