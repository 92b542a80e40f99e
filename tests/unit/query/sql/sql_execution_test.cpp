// Queries over a real database: every clause, by pages of every size, by indexes and without.

#include <algorithm>
#include <map>

#include <catch2/catch.hpp>

#include "base/fnv.h"
#include "query/sql/run/continuation.h"
#include "unit/query/sql/sql_fixture.h"

using namespace octavo;
using namespace octavo::tests;

namespace {

/// Families of Azure Cosmos DB's documentation, more or less.
class SqlFamilies : public SqlFixture {
 public:
  explicit SqlFamilies(partitioning::CreateDatabaseOptions options = {}) : SqlFixture(options) {
    put("andersen", R"({"lastName":"Andersen","address":{"state":"WA","city":"Seattle"},"registered":true,"size":4,)"
                    R"("children":[{"name":"Henriette","grade":5,"pets":[{"name":"Fluffy"}]}]})");
    put("smith", R"({"lastName":"Smith","address":{"state":"NY","city":"NY"},"registered":false,"size":5,)"
                 R"("children":[{"name":"Jesse","grade":1,"pets":[{"name":"Goofy"},{"name":"Shadow"}]},)"
                 R"({"name":"Lisa","grade":8}]})");
    put("wakefield", R"({"lastName":"Wakefield","address":{"state":"NY","city":"Albany"},"size":2.50})");
  }
};

}  // namespace

TEST_CASE("SELECT: items, lists, values, aliases and what is missing") {
  SqlFamilies families;
  CHECK(families.ask("SELECT * FROM f WHERE f._id = 'wakefield'").starts_with(R"([{"_id":"wakefield","_rev":"1-)"));
  CHECK(
      families.ask("SELECT f.lastName, f.address.city AS town, f.registered FROM Families f") ==
      R"([{"lastName":"Andersen","town":"Seattle","registered":true},{"lastName":"Smith","town":"NY","registered":false},)"
      R"({"lastName":"Wakefield","town":"Albany"}])");
  CHECK(families.ask("SELECT VALUE f.registered FROM f") == "[true,false]");
  CHECK(families.ask("SELECT VALUE f.size FROM f") == "[4,5,2.50]");  // numbers keep their spelling
  CHECK(families.ask("SELECT f.size * 2, UPPER(f._id), f.address[\"city\"] FROM f WHERE f.size < 3") ==
        R"([{"$1":5,"$2":"WAKEFIELD","city":"Albany"}])");
  CHECK(families.ask("SELECT VALUE {name: f.lastName, kids: ARRAY_LENGTH(f.children) ?? 0} FROM f") ==
        R"([{"name":"Andersen","kids":1},{"name":"Smith","kids":2},{"name":"Wakefield","kids":0}])");
  CHECK(families.ask("SELECT 1 AS one, 'x' AS x") == R"([{"one":1,"x":"x"}])");
  CHECK(families.ask("SELECT TOP 2 VALUE f._id FROM f") == R"(["andersen","smith"])");
  CHECK(families.ask("SELECT VALUE f._id FROM f OFFSET 1 LIMIT 1") == R"(["smith"])");
  CHECK(families.ask("SELECT TOP 0 * FROM f") == "[]");
}

TEST_CASE("parameters stand for values of every type") {
  SqlFamilies families;
  CHECK(families.ask("SELECT VALUE f._id FROM f WHERE f.address.state = @state AND f.size IN (@a, @b)",
                     {{"@state", R"("NY")"}, {"@a", "5"}, {"@b", "2.5"}}) == R"(["smith","wakefield"])");
  CHECK(families.ask("SELECT TOP @n VALUE @what FROM f", {{"@n", "1"}, {"@what", R"({"a":[1,null]})"}}) ==
        R"([{"a":[1,null]}])");
}

TEST_CASE("FROM walks into items, over arrays and over subqueries") {
  SqlFamilies families;
  CHECK(families.ask("SELECT VALUE c.name FROM c IN Families.children") == R"(["Henriette","Jesse","Lisa"])");
  CHECK(families.ask("SELECT * FROM Families.address.state") == R"(["WA","NY","NY"])");
  CHECK(families.ask("SELECT f._id, c.name FROM f JOIN c IN f.children") ==
        R"([{"_id":"andersen","name":"Henriette"},{"_id":"smith","name":"Jesse"},{"_id":"smith","name":"Lisa"}])");
  CHECK(families.ask("SELECT VALUE p.name FROM f JOIN c IN f.children JOIN p IN c.pets WHERE p.name != 'Goofy'") ==
        R"(["Fluffy","Shadow"])");
  CHECK(families.ask("SELECT VALUE a.city FROM f JOIN f.address a WHERE f.registered") == R"(["Seattle"])");
  CHECK(
      families.ask("SELECT f._id, c FROM f JOIN (SELECT VALUE c.grade FROM c IN f.children WHERE c.grade > 1) AS c") ==
      R"([{"_id":"andersen","c":5},{"_id":"smith","c":8}])");
  CHECK(families.ask("SELECT VALUE x.city FROM (SELECT f.address.city FROM f WHERE f.size > 3) AS x") ==
        R"(["Seattle","NY"])");
}

TEST_CASE("FROM goes through the array that a function returns") {
  SqlFamilies families;
  const std::string joined = "SELECT VALUE kv.name FROM f JOIN kv IN ";
  const auto pairs = families.ask(joined + "(SELECT VALUE ObjectToArray(f.address, 'name', 'value'))");
  CHECK(pairs.find("\"state\"") != std::string::npos);
  CHECK(families.ask(joined + "ObjectToArray(f.address, 'name', 'value')") == pairs);
  CHECK(families.ask("SELECT VALUE x FROM f JOIN x IN ARRAY_SLICE([1, 2, 3], 1) WHERE f._id = 'smith'") == "[2,3]");
  CHECK(families.ask("SELECT VALUE x FROM f JOIN x IN LOWER('A')") == "[]");
}

TEST_CASE("subqueries in WHERE and SELECT see the item") {
  SqlFamilies families;
  CHECK(families.ask("SELECT VALUE f._id FROM f WHERE EXISTS(SELECT VALUE c FROM c IN f.children WHERE c.grade > 6)") ==
        R"(["smith"])");
  CHECK(families.ask("SELECT f._id, (SELECT VALUE MAX(c.grade) FROM c IN f.children) AS best, "
                     "ARRAY(SELECT c.name FROM c IN f.children) AS names FROM f") ==
        R"([{"_id":"andersen","best":5,"names":[{"name":"Henriette"}]},)"
        R"({"_id":"smith","best":8,"names":[{"name":"Jesse"},{"name":"Lisa"}]},{"_id":"wakefield","names":[]}])");
}

TEST_CASE("ORDER BY: numbers, strings by their bytes, types in order, missing first") {
  SqlFixture db;
  db.put("a", R"({"v":"b"})");
  db.put("b", R"({"v":10})");
  db.put("c", R"({"v":9})");
  db.put("d", R"({"v":"B"})");
  db.put("e", R"({"v":null})");
  db.put("f", R"({"v":true})");
  db.put("g", R"({"v":[1]})");
  db.put("h", R"({"v":{"x":1}})");
  db.put("i", R"({"w":1})");
  db.put("j", R"({"v":"é"})");
  CHECK(db.ask("SELECT VALUE c.v FROM c ORDER BY c.v") == R"([null,true,9,10,"B","b","é",[1],{"x":1}])");
  CHECK(db.ask("SELECT VALUE c.v FROM c ORDER BY c.v DESC OFFSET 2 LIMIT 3") == R"(["é","b","B"])");
  CHECK(db.ask("SELECT TOP 2 VALUE c._id FROM c ORDER BY c.v") == R"(["i","e"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c ORDER BY c.v DESC OFFSET 8 LIMIT 5") == R"(["e","i"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE IS_DEFINED(c.w) ORDER BY c.w") == R"(["i"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c ORDER BY c.w, c._id DESC") == R"(["j","h","g","f","e","d","c","b","a","i"])");
  // Undefined for all that have no string.
  CHECK(db.ask("SELECT TOP 2 VALUE c._id FROM c ORDER BY LENGTH(c._id || c.v) DESC, c._id") == R"(["a","d"])");
  CHECK(db.ask("SELECT TOP 2 VALUE c._id FROM c ORDER BY LENGTH(c._id || c.v)") == R"(["b","c"])");
}

TEST_CASE("aggregates of all items") {
  SqlOrders orders(20);
  CHECK(orders.ask("SELECT COUNT(1), COUNT(c.score) AS scored, SUM(c.n) AS sum, AVG(c.n) AS mean, MIN(c.n) AS least, "
                   "MAX(c.team) AS last FROM c") ==
        R"([{"$1":20,"scored":15,"sum":190,"mean":9.5,"least":0,"last":"t4"}])");
  CHECK(orders.ask("SELECT VALUE COUNT(1) FROM c WHERE c.n > 100") == "[0]");
  CHECK(orders.ask("SELECT VALUE SUM(c.n) FROM c WHERE c.n > 100") == "[0]");
  CHECK(orders.ask("SELECT VALUE AVG(c.n) FROM c WHERE c.n > 100") == "[]");
  CHECK(orders.ask("SELECT VALUE SUM(c.team) FROM c") == "[]");
  CHECK(orders.ask("SELECT VALUE MAX(c.tags) FROM c") == "[]");
  CHECK(orders.ask("SELECT VALUE {mean: ROUND(AVG(c.n)), double: 2 * COUNT(1)} FROM c") ==
        R"([{"mean":10,"double":40}])");
  CHECK(orders.ask("SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t = 'a'") == "[20]");
}

TEST_CASE("GROUP BY: in the order of the groups, with the group's own values only") {
  SqlOrders orders(20);
  CHECK(orders.ask("SELECT c.team, COUNT(1) AS n, MIN(c.n) AS least FROM c GROUP BY c.team") ==
        R"([{"team":"t0","n":4,"least":0},{"team":"t1","n":4,"least":1},{"team":"t2","n":4,"least":2},)"
        R"({"team":"t3","n":4,"least":3},{"team":"t4","n":4,"least":4}])");
  CHECK(orders.ask("SELECT VALUE COUNT(1) FROM c GROUP BY c.score > 4") == "[5,8,7]");
  CHECK(orders.ask("SELECT UPPER(c.team) AS team, t FROM c JOIN t IN c.tags WHERE c.n < 2 GROUP BY UPPER(c.team), t") ==
        R"([{"team":"T0","t":"0"},{"team":"T0","t":"a"},{"team":"T0","t":"é"},)"
        R"({"team":"T1","t":"1"},{"team":"T1","t":"a"},{"team":"T1","t":"é"}])");
  CHECK(orders.ask("SELECT c.team FROM c GROUP BY c.team OFFSET 3 LIMIT 5") == R"([{"team":"t3"},{"team":"t4"}])");
  CHECK(orders.ask("SELECT c.team FROM c WHERE c.n > 100 GROUP BY c.team") == "[]");
}

TEST_CASE("DISTINCT tells values apart, whatever the order of members") {
  SqlFixture db;
  db.put("a", R"({"v":{"x":1,"y":2}})");
  db.put("b", R"({"v":{"y":2,"x":1.0}})");
  db.put("c", R"({"v":3})");
  db.put("d", R"({})");
  CHECK(db.ask("SELECT DISTINCT VALUE c.v FROM c") == R"([3,{"x":1,"y":2}])");
  CHECK(db.ask("SELECT DISTINCT c.v FROM c") == R"([{},{"v":3},{"v":{"x":1,"y":2}}])");
  CHECK(db.ask("SELECT DISTINCT VALUE IS_NUMBER(c.v) FROM c ORDER BY c._id DESC") == "[false,true]");
}

TEST_CASE("every shape of query continues from a continuation, for every size of page") {
  SqlOrders orders(50);
  const auto query = GENERATE(
      as<std::string>{}, "SELECT VALUE c.n FROM c", "SELECT VALUE c.n FROM c WHERE c.score > 3 OFFSET 5 LIMIT 20",
      "SELECT TOP 17 VALUE c.n FROM c", "SELECT c.n, t FROM c JOIN t IN c.tags JOIN u IN c.tags WHERE t != u",
      "SELECT VALUE c.n FROM c ORDER BY c.score",
      "SELECT VALUE c.n FROM c ORDER BY c.score DESC, c.team OFFSET 3 LIMIT 30",
      "SELECT VALUE t FROM c JOIN t IN c.tags ORDER BY t", "SELECT DISTINCT VALUE c.score FROM c",
      "SELECT DISTINCT c.team, c.score FROM c ORDER BY c.team DESC OFFSET 2 LIMIT 9",
      "SELECT c.team, COUNT(1) AS n FROM c GROUP BY c.team",
      "SELECT c.score, c.team FROM c GROUP BY c.score, c.team OFFSET 4 LIMIT 20",
      "SELECT DISTINCT VALUE COUNT(1) FROM c GROUP BY c.score", "SELECT VALUE COUNT(1) FROM c", "SELECT VALUE 5",
      "SELECT VALUE n FROM n IN (SELECT VALUE [1,2,3,4,5])", "SELECT VALUE c.score FROM c OFFSET 20 LIMIT 100");
  const std::string whole = orders.ask(query);
  REQUIRE_FALSE(whole.starts_with("error"));
  for (const std::uint64_t size : {1, 2, 7, 1000}) {
    orders.slice = size == 2 ? 1 : 7;
    CHECK(orders.ask_by_pages(query, size) == whole);
  }
}

TEST_CASE("a page ends when it has enough bytes") {
  SqlOrders orders(30);
  sql::SqlOptions options;
  options.page_bytes_max = 10;
  const auto query = parse_sql("SELECT VALUE c.team FROM c");
  const auto page = orders.page(query, {}, options);
  CHECK(SqlFixture::joined(page.results) == R"(["t0","t1"])");
  CHECK(page.continuation);
}

TEST_CASE("a place in an order holds for another condition, as clients ask that merge ordered ranges") {
  SqlOrders orders(10);
  sql::SqlOptions options;
  options.page_items_max = 4;
  const auto first = orders.page(parse_sql("SELECT VALUE c.n FROM c WHERE true ORDER BY c.n"), {}, options);
  CHECK(SqlFixture::joined(first.results) == "[0,1,2,3]");
  const auto next =
      orders.page(parse_sql("SELECT VALUE c.n FROM c WHERE c.n >= 2 ORDER BY c.n"), {}, options, first.continuation);
  CHECK(next.error == "");
  CHECK(SqlFixture::joined(next.results) == "[4,5,6,7]");
  CHECK(orders.page(parse_sql("SELECT VALUE c.n FROM c ORDER BY c.n DESC"), {}, options, first.continuation).error ==
        "The continuation belongs to another query.");
}

TEST_CASE("a continuation holds when the parameters have other names, and not when they have other values") {
  SqlOrders orders(10);
  sql::SqlOptions options;
  options.page_items_max = 2;
  const auto text = GENERATE(as<std::string>(), "SELECT VALUE c.n FROM c WHERE c.n >= @low AND c.n < @high",
                             "SELECT TOP @high VALUE c.n FROM c WHERE c.n >= 3 ORDER BY c.n * @low");
  const auto first = orders.page(parse_sql(text, {{"@low", "3"}, {"@high", "7"}}), {}, options);
  CHECK(SqlFixture::joined(first.results) == "[3,4]");
  auto renamed = text;
  renamed.replace(renamed.find("@low"), 4, "@l8c1d");
  renamed.replace(renamed.find("@high"), 5, "@h77");
  const auto next = orders.page(parse_sql(renamed, {{"@h77", "7"}, {"@l8c1d", "3"}}), {}, options, first.continuation);
  CHECK(next.error == "");
  CHECK(SqlFixture::joined(next.results) == "[5,6]");
  CHECK(orders.page(parse_sql(text, {{"@low", "7"}, {"@high", "3"}}), {}, options, first.continuation).error ==
        "The continuation belongs to another query.");
}

TEST_CASE("a continuation of an earlier version, which knows the names of parameters, holds for these names") {
  const auto query = parse_sql("SELECT * FROM c WHERE c.n >= @low", {{"@low", "3"}});
  const std::uint64_t earlier = fnv1a_64(
      "\xFF",
      fnv1a_64("3", fnv1a_64("\xFF", fnv1a_64("@low", fnv1a_64("\xFF", fnv1a_64(query->text(), fnv1a_64("")))))));
  CHECK(query->is_continued_by(earlier));
  CHECK(query->fingerprint() != earlier);
  CHECK_FALSE(parse_sql("SELECT * FROM c WHERE c.n >= @l", {{"@l", "3"}})->is_continued_by(earlier));
}

TEST_CASE("a continuation is refused by another query, and when it is no continuation") {
  SqlOrders orders(10);
  sql::SqlOptions options;
  options.page_items_max = 2;
  const auto query = parse_sql("SELECT * FROM c");
  const auto first = orders.page(query, {}, options);
  REQUIRE(first.continuation);
  CHECK(orders.page(parse_sql("SELECT * FROM c WHERE true"), {}, options, first.continuation).error ==
        "The continuation belongs to another query.");
  CHECK(orders.page(query, {}, options, "x" + *first.continuation).error ==
        "The continuation was not issued by this server.");
  CHECK(orders.page(query, {}, options, "").error == "The continuation was not issued by this server.");
  sql::Continuation any;
  any.kind = sql::Continuation::Kind::sorted;
  any.fingerprint = 7;
  any.key = "k";
  any.positions = {1, 2};
  CHECK(sql::Continuation::decode(any.encode()) == any);
}

TEST_CASE("one partition, one physical partition, part of the hash space") {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = 4;
  SqlOrders orders(30, options);
  CHECK(orders.ask("SELECT VALUE COUNT(1) FROM c", {},
                   {.partition_key = "p1", .physical_partition = {}, .hash_range = {}}) == "[10]");
  CHECK(orders.ask("SELECT TOP 2 VALUE c._id FROM c", {},
                   {.partition_key = "p2", .physical_partition = {}, .hash_range = {}}) ==
        R"(["p2:o1002","p2:o1005"])");
  std::size_t all = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    sql::SqlScope scope;
    scope.physical_partition = i;
    const std::string count = orders.ask("SELECT VALUE COUNT(1) FROM c", {}, scope);
    all += std::stoul(count.substr(1));
    CHECK(orders.ask_by_pages("SELECT c._id FROM c ORDER BY c.n", 3, scope) ==
          orders.ask("SELECT c._id FROM c ORDER BY c.n", {}, scope));
  }
  CHECK(all == 30);
  sql::SqlScope half;
  half.hash_range = {0, partitioning::hash_space_end / 2};
  sql::SqlScope other;
  other.hash_range = {partitioning::hash_space_end / 2, partitioning::hash_space_end};
  const auto count = [&](const sql::SqlScope& scope) {
    return std::stoul(orders.ask("SELECT VALUE COUNT(1) FROM c", {}, scope).substr(1));
  };
  CHECK(count(half) + count(other) == 30);
}

TEST_CASE("conditions are answered by Mango's indexes, with the same result as without") {
  SqlOrders orders(200);
  const std::vector<std::string> queries{
      "SELECT VALUE c.n FROM c WHERE c.score = 4",
      "SELECT VALUE c.n FROM c WHERE c.score > 7",
      "SELECT VALUE c.n FROM c WHERE c.score BETWEEN 2 AND 3 AND c.team = 't1'",
      "SELECT VALUE c.n FROM c WHERE c.score IN (1, 5, 9)",
      "SELECT VALUE c.n FROM c WHERE c.team = 't3' OR c.score = 2",
      "SELECT VALUE c.n FROM c WHERE c.team LIKE 't2%'",
      "SELECT VALUE c.n FROM c WHERE STARTSWITH(c.team, 't4')",
      "SELECT VALUE c.n FROM c WHERE c.team >= 't4'",
      "SELECT VALUE c.n FROM c WHERE NOT IS_DEFINED(c.score)",
      "SELECT VALUE c.n FROM c WHERE c.score > 3 ORDER BY c.score DESC",
      "SELECT VALUE c.n FROM c WHERE c.score != 4 AND c.n < 50",
      "SELECT VALUE COUNT(1) FROM c WHERE c.score = 4",
      "SELECT VALUE t FROM c JOIN t IN c.tags WHERE c.score = 4",
  };
  const auto as_set = [](const std::string& results) {
    auto parsed = json::parse(results).as_array();
    std::multiset<std::string> set;
    for (const auto& value : parsed) set.insert(json::serialize(value));
    return set;
  };
  std::map<std::string, std::string> without;
  for (const auto& query : queries) without[query] = orders.ask(query);
  orders.create_index(R"({"index":{"fields":["score"]},"ddoc":"one","name":"score"})");
  orders.create_index(R"({"index":{"fields":["team"]},"ddoc":"two","name":"team"})");
  orders.wait_for_indexes();
  std::size_t by_index = 0;
  for (const auto& query : queries) {
    INFO(query);
    CHECK(as_set(orders.ask(query)) == as_set(without[query]));
    by_index += orders.used_index() ? 1 : 0;
    if (query.find("COUNT") == std::string::npos)
      CHECK(as_set(orders.ask_by_pages(query, 3)) == as_set(without[query]));
  }
  CHECK(by_index >= 8);
  CHECK(orders.ask("SELECT VALUE c.score FROM c WHERE c.score > 7 ORDER BY c.score DESC").starts_with("[9,9"));
  CHECK(orders.last->presorted);
  CHECK(orders.ask("SELECT VALUE c._id FROM c WHERE c._id = 'o1007'") == R"(["o1007"])");
  CHECK(
      orders.page(parse_sql("SELECT VALUE c._id FROM c WHERE c._id = 'o1007'"), {}, {}).statistics.documents_examined ==
      1);
}

TEST_CASE("SQL pages of a union hold when another index becomes the better one of a side") {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  SqlFixture db(options);
  std::string expected;
  for (int i = 100; i < 113; ++i) {
    const std::string id = "p:" + std::to_string(i);
    db.put(id, i < 110 ? R"({"a":5,"b":2})" : R"({"c":1})");
    expected += (expected.empty() ? "\"" : ",\"") + id + '"';
  }
  db.put("p:200", R"({"a":0,"b":2})");
  for (int i = 300; i < 340; ++i) db.put("p:" + std::to_string(i), "{}");
  for (const std::string name : {"a", "b", "c"}) {
    db.create_index(R"({"index":{"fields":[")" + name + R"("]},"ddoc":")" + name + R"("})");
  }
  db.wait_for_indexes();
  const auto query = parse_sql("SELECT VALUE c._id FROM c WHERE (c.a = 5 AND c.b = 2) OR c.c = 1");
  const sql::SqlScope scope{.partition_key = "p", .physical_partition = {}, .hash_range = {}};
  sql::SqlOptions page_options;
  page_options.page_items_max = 6;
  const auto first_index = [&] {
    REQUIRE(db.last->plan().branches.size() == 2);
    return db.last->plan().branches[0].index->definition->design_document;
  };
  auto page = db.page(query, scope, page_options);
  CHECK(first_index() == "_design/a");
  std::string results = page.results;
  for (int i = 201; i < 209; ++i) db.put("p:" + std::to_string(i), R"({"a":5,"b":0})");
  const auto continuation = *page.continuation;
  db.page(query, scope, page_options);
  CHECK(first_index() == "_design/b");
  while (page.continuation) {
    page = db.page(query, scope, page_options, page.continuation);
    REQUIRE(page.error == "");
    if (!page.results.empty()) results += ",\n" + page.results;
  }
  CHECK(SqlFixture::joined(results) == "[" + expected + "]");

  auto changed = *sql::Continuation::decode(continuation);
  CHECK(changed.kind == sql::Continuation::Kind::combined);
  changed.identity = "of no index";
  CHECK(db.page(query, scope, page_options, changed.encode()).error ==
        "The index that the query was run by no longer exists.");
  // Earlier versions wrote continuations without the index.
  changed.kind = static_cast<sql::Continuation::Kind>('u');
  CHECK(db.page(query, scope, page_options, changed.encode()).error ==
        "The continuation was not issued by this server.");
}

TEST_CASE("documents are not tested for what the index of their partition has said") {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  SqlFixture db(options);
  const char* values[] = {"1",
                          "1.0",
                          "1.5",
                          "\"1\"",
                          "\"\\u00011\"",  // sorts like "1", as the two after it do
                          "\"\u200b1\"",
                          "\"\1771\"",
                          "\"e\"",
                          "\"\\u001be\"",
                          "\"e\u0301\"",
                          "\"é\"",
                          "\"É\"",
                          "true",
                          "null",
                          "[1]",
                          "{\"a\":1}",
                          ""};
  int n = 0;
  for (const char* value : values) {
    const std::string v = *value == '\0' ? "" : std::string(",\"v\":") + value;
    for (const char* kind : {"1", "false"}) {
      db.put("p:" + std::to_string(++n), std::string("{\"kind\":") + kind + v + "}");
    }
  }
  const auto scope = [] {
    sql::SqlScope in;
    in.partition_key = "p";
    return in;
  }();
  using enum sql::WhereHolds;
  struct Case {
    std::string where;
    sql::WhereHolds holds;
  };
  const std::vector<Case> cases{{"c.v = 1 AND c.kind = 1", of_all},
                                {"c.v = '1'", unknown},  // the index begins with another field
                                {"c.v = '1' AND c.kind = 1", of_plain_strings},
                                {"c.v = 'e' AND c.kind = 1", of_plain_strings},
                                {"c.v = '\\u001be' AND c.kind = 1", unknown},
                                {"c.v = 'é' AND c.kind = false", unknown},
                                {"c.kind = 1 AND c.v = null", of_all},
                                {"c.v = true AND c.kind = 1", of_all},
                                {"c.v = 1 AND c.kind = 1 AND c.v = 1", of_all},
                                {"c.kind = 1 AND c.v IN (1, 'é')", unknown},
                                {"c.kind = 1 AND c.v > 1", unknown},
                                {"c.kind = 1 AND c.v = [1]", unknown},
                                {"c.kind = 1 AND c.v['a'] = 1", unknown},
                                {"c.kind = 1 AND c.v = 9007199254740993", unknown},
                                {"c.kind = 1 AND c.v != 1", unknown}};
  std::vector<std::string> before;
  for (const auto& each : cases) before.push_back(db.ask("SELECT VALUE c._id FROM c WHERE " + each.where, {}, scope));
  db.create_index(R"({"index":{"fields":["kind","v"]},"ddoc":"d","name":"kind-v","partitioned":true})");
  db.wait_for_indexes();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    INFO(cases[i].where);
    auto found = json::parse(db.ask("SELECT VALUE c._id FROM c WHERE " + cases[i].where, {}, scope)).as_array();
    auto expected = json::parse(before[i]).as_array();
    const auto by_text = [](const json::value& a, const json::value& b) { return a.as_string() < b.as_string(); };
    std::ranges::sort(found, by_text);
    std::ranges::sort(expected, by_text);
    CHECK(found == expected);
    CHECK(db.last->where_holds == cases[i].holds);
  }
}

TEST_CASE("an index cannot bring back the order of strings, nor hide equal numbers") {
  SqlFixture db;
  db.create_index(R"({"index":{"fields":["v"]},"ddoc":"d","name":"v"})");
  db.put("a", R"({"v":"b"})");
  db.put("b", R"({"v":"B"})");
  db.put("c", R"({"v":"a"})");
  db.put("d", R"({"v":9007199254740993})");
  db.put("e", R"({"v":9007199254740992})");
  db.wait_for_indexes();
  CHECK(db.ask("SELECT VALUE c.v FROM c WHERE IS_STRING(c.v) ORDER BY c.v") == R"(["B","a","b"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE c.v = 9007199254740992") == R"(["e","d"])");
  CHECK(db.ask("SELECT VALUE c._id FROM c WHERE c.v < 'a'") == R"(["b"])");
}

TEST_CASE("what is kept in memory is bounded") {
  SqlOrders orders(300);
  orders.memory_bytes_max = 5'000;
  CHECK(orders.ask("SELECT * FROM c ORDER BY c.n").starts_with("error: The query has to keep more than 5000 bytes"));
  CHECK(orders.ask("SELECT TOP 3 VALUE c.n FROM c ORDER BY c.n DESC") == "[299,298,297]");
  CHECK(orders.ask("SELECT DISTINCT c.n FROM c").starts_with("error: The query has to keep"));
  CHECK(orders.ask("SELECT c.n FROM c GROUP BY c.n").starts_with("error: The query has to keep"));
  CHECK(orders.ask("SELECT TOP 2 c.n FROM c GROUP BY c.n") == R"([{"n":0},{"n":1}])");
}

TEST_CASE("user-defined functions are called through the API") {
  class Doubling : public sql::UserFunctions {
   public:
    Expected<std::string> call(std::string_view name, std::span<const std::string> arguments) override {
      if (name != "twice") return fail(ErrorCode::function_failed, "no such function");
      if (arguments[0].empty()) return std::string();
      return "[" + arguments[0] + "," + arguments[0] + "]";
    }
  };
  SqlFamilies families;
  Doubling functions;
  sql::SqlOptions options;
  options.user_functions = &functions;
  CHECK(families.page(parse_sql("SELECT VALUE udf.twice(f.registered)[1] FROM f"), {}, options).results ==
        "true,\nfalse");
  CHECK(families.page(parse_sql("SELECT VALUE udf.thrice(1) FROM f"), {}, options).error == "no such function");
  CHECK(
      families.page(parse_sql("SELECT VALUE udf.twice(1) FROM f"), {}, {}).error.starts_with("User-defined functions"));
}

TEST_CASE("deleted and design documents are no items") {
  SqlFixture db;
  db.put("_design/x", R"({"language":"query"})");
  const auto written = EngineFixture::put(*db.database, "gone", "{}");
  EngineFixture::put(*db.database, "gone", "{}", written.revision, true);
  db.put("here", R"({"é\u0022k":1,"a\u00e9":"x\ny"})");
  CHECK(db.ask("SELECT VALUE c._id FROM c") == R"(["here"])");
  CHECK(db.ask(R"(SELECT VALUE [c["é\"k"], c.aé, LENGTH(c.aé)] FROM c)") == R"([[1,"x\ny",3]])");
}
