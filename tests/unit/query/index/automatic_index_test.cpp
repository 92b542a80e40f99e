#include "query/index/automatic_index.h"

#include <algorithm>
#include <array>
#include <future>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "../sql/sql_fixture.h"
#include "expired_documents.h"
#include "query/database/automatic_check.h"
#include "query/database/index_check.h"
#include "query/index/automatic_rows.h"
#include "support/patience.h"
#include "support/rounds.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::ids_of;
using octavo::tests::run_task;
using octavo::tests::SqlFixture;

namespace {

namespace json = boost::json;

json::object policy_of(std::vector<std::string> included, std::vector<std::string> excluded) {
  const auto list = [](const std::vector<std::string>& paths) {
    json::array entries;
    for (const auto& path : paths) entries.push_back(json::object{{"path", path}});
    return entries;
  };
  return {{"includedPaths", list(included)}, {"excludedPaths", list(excluded)}};
}

std::string container_with(json::object policy) {
  return json::serialize(json::object{{"indexing_policy", std::move(policy)}});
}

partitioning::CreateDatabaseOptions container_options(json::object policy, std::uint32_t q = 1) {
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = q;
  options.definition = container_with(std::move(policy));
  return options;
}

std::string key_of(const json::value& value, StringOrder order) {
  std::string key;
  AutomaticIndex::append_key(key, value, order);
  return key;
}

std::size_t entry_count(const AutomaticIndex& index, std::string_view body) {
  DocumentParser parser;
  AutomaticIndex::Entries entries;
  index.entries_of({*parser.parse(body), body, "id", {}}, entries);
  return entries.size();
}

/// Documents and conditions that hit each other.
class Words {
 public:
  explicit Words(unsigned seed) : random_(seed) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  std::string scalar() {
    static const std::vector<std::string> values{"null",
                                                 "false",
                                                 "true",
                                                 "-1.5",
                                                 "0",
                                                 "1",
                                                 "2",
                                                 "3",
                                                 "1000",
                                                 "9007199254740993",
                                                 "\"\"",
                                                 "\"a\"",
                                                 "\"B\"",
                                                 "\"b\"",
                                                 "\"aZ\"",
                                                 "\"ab\"",
                                                 "\"ä\"",
                                                 "\"zz\"",
                                                 "\"abc\"",
                                                 "\"Zebra\"",
                                                 "\"a\xe2\x80\x8b\"",
                                                 "\"a\xcc\x88\"",
                                                 "\"\xe2\x80\x8b\""};
    if (below(40) == 0) return '"' + std::string(250 + below(20), 'l') + std::to_string(below(3)) + '"';
    return values[below(values.size())];
  }
  std::string document() {
    std::string body;
    for (const std::string name : {"a", "b", "c"}) {
      if (below(5) != 0) body += ",\"" + name + "\":" + scalar();
    }
    if (below(3) != 0) body += ",\"n\":" + std::to_string(below(12));
    if (below(3) != 0) {
      body += ",\"t\":[";
      const std::size_t size = below(4);
      for (std::size_t i = 0; i < size; ++i) body += (i > 0 ? "," : "") + scalar();
      body += "]";
    }
    if (below(3) == 0)
      body += ",\"o\":{\"x\":" + scalar() + ",\"l\":[{\"k\":" + scalar() + "},{\"k\":" + scalar() + "}]}";
    if (below(12) == 0) body += ",\"a.b\":" + scalar() + ",\"7\":" + scalar();
    return body.empty() ? "{}" : "{" + body.substr(1) + "}";
  }
  std::string field() {
    static const std::vector<std::string> names{"a", "b", "c", "n", "o.x"};
    return names[below(names.size())];
  }
  std::string sql_condition(int depth = 2) {
    if (depth > 0 && below(3) == 0) {
      return "(" + sql_condition(depth - 1) + (below(2) == 0 ? " AND " : " OR ") + sql_condition(depth - 1) + ")";
    }
    static const std::vector<std::string> operators{"=", "<", "<=", ">", ">=", "!="};
    const std::string path = "c." + field();
    switch (below(11)) {
      case 0:
        return path + " IN (" + scalar() + ", " + scalar() + ")";
      case 1:
        return path + " BETWEEN " + scalar() + " AND " + scalar();
      case 2:
        return "STARTSWITH(" + path + ", " + (below(2) == 0 ? "\"a\"" : "\"Z\"") + ")";
      case 3:
        return "ARRAY_CONTAINS(c.t, " + scalar() + ")";
      case 4:
        return std::string(below(2) == 0 ? "" : "NOT ") + "IS_DEFINED(" + path + ")";
      case 5:
        return "ARRAY_CONTAINS(c.o.l, {\"k\": " + scalar() + "}, true)";
      case 6:
        return "IS_STRING(" + path + ")";
      default:
        return path + " " + operators[below(operators.size())] + " " + scalar();
    }
  }
  std::string mango_condition() {
    static const std::vector<std::string> operators{"$lt", "$lte", "$eq", "$gt", "$gte", "$ne"};
    switch (below(8)) {
      case 0:
        return "{\"$in\":[" + scalar() + "," + scalar() + "]}";
      case 1:
        return std::string("{\"$exists\":") + (below(2) == 0 ? "true}" : "false}");
      case 2:
        return "{\"$beginsWith\":\"a\"}";
      case 3:
        return "{\"$gte\":" + scalar() + ",\"$lt\":" + scalar() + "}";
      case 4:
        return "{\"$type\":\"string\"}";
      default:
        return "{\"" + operators[below(operators.size())] + "\":" + scalar() + "}";
    }
  }
  std::string selector() {
    std::string text = "{\"" + field() + "\":" + mango_condition();
    if (below(2) == 0)
      text += ",\"$or\":[{\"" + field() + "\":" + mango_condition() + "},{\"a\":" + mango_condition() + "}]";
    if (below(4) == 0) text += ",\"t\":{\"$elemMatch\":{\"$eq\":" + scalar() + "}}";
    return text + "}";
  }

 private:
  std::mt19937 random_;
};

void edit_both(SqlFixture& one, SqlFixture& other, Words& words, int edits, int partitions, int ids) {
  for (int i = 0; i < edits; ++i) {
    const std::string id = "p" + std::to_string(words.below(static_cast<std::size_t>(partitions))) + ":d" +
                           std::to_string(words.below(static_cast<std::size_t>(ids)));
    const std::string body = words.document();
    const bool remove = words.below(6) == 0;
    for (SqlFixture* fixture : {&one, &other}) {
      const auto snapshot = *fixture->database->snapshot_for_document(id);
      const auto found = *snapshot.find(id);
      std::optional<storage::Revision> parent;
      if (found && !found->deleted) parent = found->revision;
      EngineFixture::put(*fixture->database, id, parent && remove ? "{}" : body, parent, parent && remove);
    }
  }
}

std::vector<std::string> sorted_rows(const std::string& list) {
  std::vector<std::string> rows;
  if (list.starts_with("error")) return {list};
  const json::value parsed = json::parse(list);
  for (const auto& row : parsed.as_array()) rows.push_back(json::serialize(row));
  std::ranges::sort(rows);
  return rows;
}

sql::SqlScope in_partition(std::string key) {
  sql::SqlScope scope;
  scope.partition_key = std::move(key);
  return scope;
}

bool ran_by_automatic(const SqlFixture& fixture) {
  return fixture.used_index() && fixture.last->plan().branches[0].index->definition->automatic != nullptr;
}

}  // namespace

TEST_CASE("an indexing policy's longest path decides, and /? before /*") {
  const auto index = AutomaticIndex::from_policy(
      policy_of({"/*", "/secret/shown/?", "/list/[]/name/?"}, {"/secret/*", "/plain/?", "/list/*"}),
      StringOrder::bytes);
  const auto covers = [&](std::string_view base) { return index->covers(*FieldPath::parse(base)); };
  CHECK(covers("a"));
  CHECK(covers("a.b.c"));
  CHECK_FALSE(covers("secret"));
  CHECK_FALSE(covers("secret.hidden"));
  CHECK(covers("secret.shown"));
  CHECK_FALSE(covers("secret.shown.below"));
  CHECK_FALSE(covers("plain"));
  CHECK(covers("plain.below"));
  const FieldPath name = *FieldPath::parse("name");
  const FieldPath itself;
  CHECK(index->covers(*FieldPath::parse("list"), &name));
  CHECK_FALSE(index->covers(*FieldPath::parse("list"), &itself));
  CHECK(index->covers(*FieldPath::parse("other"), &itself));
  // Elements by number are not told apart.
  CHECK_FALSE(covers("a.0"));
}

TEST_CASE("an automatic index has an entry for each value that its policy includes") {
  const auto everything = AutomaticIndex::of_everything(StringOrder::bytes);
  CHECK(entry_count(*everything, R"({})") == 0);
  CHECK(entry_count(*everything, R"({"a":1,"b":"x","c":null})") == 3);
  // The object and its member; the array, its two different elements.
  CHECK(entry_count(*everything, R"({"a":{"b":1},"t":["x","y","x"]})") == 5);
  const auto few = AutomaticIndex::from_policy(policy_of({"/a/?", "/t/[]/?"}, {"/*"}), StringOrder::bytes);
  CHECK(entry_count(*few, R"({"a":{"b":1},"t":["x","y","x"],"z":5})") == 3);
  CHECK(AutomaticIndex::from_policy({{"indexingMode", "none"}}, StringOrder::bytes) == nullptr);
  CHECK(AutomaticIndex::from_policy({{"automatic", false}}, StringOrder::bytes) == nullptr);
}

TEST_CASE("an automatic index is the same when it is read back from its record") {
  auto policy = policy_of({"/*"}, {"/x/*"});
  policy["compositeIndexes"] = json::parse(R"([[{"path":"/a"},{"path":"/b","order":"descending"}]])");
  const auto index = AutomaticIndex::from_policy(policy, StringOrder::bytes);
  const auto again = AutomaticIndex::from_json(json::parse(json::serialize(index->to_json())).as_object());
  REQUIRE(again);
  CHECK(automatic_definition(again)->identity == automatic_definition(index)->identity);
  CHECK(again->composites() == index->composites());
  CHECK(automatic_definition(AutomaticIndex::of_everything(StringOrder::icu))->identity !=
        automatic_definition(AutomaticIndex::of_everything(StringOrder::bytes))->identity);
}

TEST_CASE("keys of an automatic index never turn the order of two values round") {
  std::mt19937 random(5);
  const auto text = [&] {
    std::string made;
    const std::size_t size = random() % 8 == 0 ? 240 + random() % 40 : random() % 6;
    const char few = static_cast<char>('a' + random() % 2);
    for (std::size_t i = 0; i < size; ++i) made += random() % 30 == 0 ? '\0' : random() % 60 == 0 ? 'c' : few;
    return made;
  };
  for (int i = 0; i < 20'000; ++i) {
    const std::string a = text();
    const std::string b = text();
    const std::string key_a = key_of(json::value(a), StringOrder::bytes);
    const std::string key_b = key_of(json::value(b), StringOrder::bytes);
    CAPTURE(a, b);
    if (a < b) REQUIRE(key_a <= key_b);
    if (a == b) REQUIRE(key_a == key_b);
    if (key_a != key_b) REQUIRE_FALSE(key_b.starts_with(key_a));
    REQUIRE(key_of(json::value(i), StringOrder::bytes) < key_a);
  }
}

TEST_CASE("SQL over an automatic index gives what a scan gives") {
  const auto q = GENERATE(1U, 2U);
  auto policy = policy_of({"/*"}, {"/c/?"});
  policy["compositeIndexes"] =
      json::parse(R"([[{"path":"/n"},{"path":"/a","order":"descending"}],[{"path":"/b"},{"path":"/n"}]])");
  SqlFixture indexed(container_options(policy, q));
  SqlFixture plain(container_options({{"indexingMode", "none"}}, q));
  Words words(q);
  std::size_t by_index = 0;
  for (int round = 0; round < 4; ++round) {
    edit_both(indexed, plain, words, 350, 3, round == 0 ? 20 : 120);
    indexed.wait_for_automatic_index();
    for (std::size_t i = 0; i < octavo::tests::rounds(120); ++i) {
      sql::SqlScope scope;
      if (words.below(2) == 0) scope.partition_key = "p" + std::to_string(words.below(4));
      const std::string where = " WHERE " + words.sql_condition();
      std::string query = "SELECT VALUE c._id FROM c" + where;
      if (words.below(5) == 0) query = "SELECT VALUE c._id FROM c JOIN e IN c.t" + where + " AND e = " + words.scalar();
      CAPTURE(round, query, scope.partition_key);
      const auto expected = sorted_rows(plain.ask(query, {}, scope));
      REQUIRE(sorted_rows(indexed.ask(query, {}, scope)) == expected);
      by_index += ran_by_automatic(indexed) ? 1 : 0;
      REQUIRE(sorted_rows(indexed.ask_by_pages(query, 5, scope)) == expected);
      const std::string field = words.field();
      query = "SELECT VALUE [c." + field + "] FROM c" + where + " ORDER BY c." + field +
              (words.below(2) == 0 ? " DESC" : "");
      CAPTURE(query);
      const std::string in_order = plain.ask(query, {}, scope);
      REQUIRE(indexed.ask(query, {}, scope) == in_order);
      REQUIRE(indexed.ask_by_pages(query, 4, scope) == in_order);
    }
    CHECK(indexed.index_problems() == std::vector<std::string>{});
  }
  CHECK(by_index > octavo::tests::rounds(100));
}

TEST_CASE("an order by two properties is that of a composite index") {
  auto policy = policy_of({"/*"}, {});
  policy["compositeIndexes"] = json::parse(R"([[{"path":"/n"},{"path":"/a","order":"descending"}]])");
  SqlFixture fixture(container_options(policy));
  SqlFixture plain(container_options({{"indexingMode", "none"}}));
  for (int i = 0; i < 300; ++i) {
    std::string body = "{";
    if (i % 7 != 0) body += "\"n\":" + std::to_string(i % 5) + ",";
    body += "\"a\":\"" + std::to_string(i % 11) + "x\"}";
    for (SqlFixture* each : {&fixture, &plain}) each->put("p:" + std::to_string(i), body);
  }
  fixture.wait_for_automatic_index();
  for (const char* order : {"c.n, c.a DESC", "c.n DESC, c.a"}) {
    const std::string query = std::string("SELECT VALUE [c.n, c.a] FROM c ORDER BY ") + order;
    CHECK(fixture.ask(query) == plain.ask(query));
    CHECK(fixture.last->presorted);
    CHECK(fixture.ask_by_pages(query, 9, in_partition("p")) == plain.ask(query));
  }
  // Another pair of directions has no such index.
  fixture.ask("SELECT VALUE c._id FROM c ORDER BY c.n, c.a");
  CHECK_FALSE(fixture.last->presorted);
}

TEST_CASE("a large logical partition is walked in order without meeting the others") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {})));
  for (int i = 0; i < 400; ++i) {
    fixture.put((i % 4 == 0 ? "big:" : "p" + std::to_string(i) + ":") + std::to_string(i),
                R"({"at":)" + std::to_string(i) + "}");
  }
  fixture.wait_for_automatic_index();
  const auto query = octavo::tests::parse_sql("SELECT TOP 3 VALUE c.at FROM c ORDER BY c.at DESC");
  const auto page = fixture.page(query, in_partition("big"), {});
  CHECK(page.results == "396,\n392,\n388");
  CHECK(page.statistics.keys_examined == 3);
  // A small one is found among the others'.
  CHECK(fixture.ask("SELECT VALUE c.at FROM c WHERE c.at = 7", {}, in_partition("p7")) == "[7]");
  CHECK(fixture.ask("SELECT VALUE c.at FROM c WHERE c.at = 8", {}, in_partition("p7")) == "[]");
}

TEST_CASE("two values asked for are intersected before documents are read") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {}), GENERATE(1U, 3U)));
  // Neither is rare: together they are.
  for (int i = 0; i < 1'000; ++i) {
    const std::string key = i < 500 ? "big:" : "p" + std::to_string(i) + ":";
    fixture.put(key + std::to_string(i), R"({"type":")" + std::string(i % 2 == 0 ? "post" : "like") + R"(","user":)" +
                                             std::to_string(i % 3) + R"(,"at":)" + std::to_string(i % 50) + "}");
  }
  fixture.wait_for_automatic_index();
  const auto loaded = [&](const std::string& condition, const sql::SqlScope& scope) {
    const auto page =
        fixture.page(octavo::tests::parse_sql("SELECT VALUE COUNT(1) FROM c WHERE " + condition), scope, {});
    return std::pair(page.results, page.statistics.documents_examined);
  };
  CHECK(loaded("c.at = 4 AND c.user = 1 AND c.type = 'post'", {}) == std::pair<std::string, std::uint64_t>("7", 7));
  CHECK(loaded("c.at = 4 AND c.user IN (1, 7) AND c.type = 'like'", {}) ==
        std::pair<std::string, std::uint64_t>("0", 0));
  CHECK(loaded("c.user = 1 AND c.type = 'post'", in_partition("big")).first == "83");
  CHECK(loaded("c.at = 4 AND c.user = 1", in_partition("big")) == std::pair<std::string, std::uint64_t>("4", 4));
  // What spares no documents is not looked at for long.
  const auto page =
      fixture.page(octavo::tests::parse_sql("SELECT VALUE COUNT(1) FROM c WHERE c.type = 'post' AND c.at IN "
                                            "(0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30,32,34,36,38,40,42,44,46,48)"),
                   {}, {});
  CHECK(page.results == "500");
  CHECK(page.statistics.keys_examined < 500 + 50);
  CHECK(fixture.find(R"({"selector":{"user":1,"at":4,"type":"post"}})").at("docs").get_array().size() == 7);
}

TEST_CASE("properties with the names of Mango's operators are found by an automatic index") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {})));
  fixture.put("p:1", R"({"$eq":1,"$or":"x","tags":[{"$elemMatch":1}]})");
  for (int i = 2; i < 100; ++i) fixture.put("p:" + std::to_string(i), R"({"$eq":2,"$or":"y","tags":[{"k":1}]})");
  fixture.wait_for_automatic_index();
  for (const std::string condition : {R"(c["$eq"] = 1)", R"(c["$or"] = 'x' OR c.missing = 1)",
                                      R"(ARRAY_CONTAINS(c.tags, {"$elemMatch": 1}, true))"}) {
    CAPTURE(condition);
    CHECK(fixture.ask("SELECT VALUE c._id FROM c WHERE " + condition) == R"(["p:1"])");
    CHECK(ran_by_automatic(fixture));
  }
}

TEST_CASE("what many have and what fewer have is told apart where it matters") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {}), GENERATE(1U, 3U)));
  // More than are counted at first have either; a walk in order would meet a post in every thirty-second.
  for (int i = 0; i < 8'000; ++i) {
    fixture.put("p" + std::to_string(i) + ":" + std::to_string(i),
                R"({"at":)" + std::to_string(i * 7 % 8'000) + R"(,"type":")" + (i % 32 == 0 ? "post" : "like") +
                    R"(","user":)" + std::to_string(i % 5) + "}");
  }
  fixture.wait_for_automatic_index();
  const auto examined = [&](const std::string& query) {
    return fixture.page(octavo::tests::parse_sql(query), {}, {}).statistics;
  };
  const auto both = examined("SELECT * FROM c WHERE c.user = 1 AND c.type = 'post'");
  CHECK(both.documents_examined <= 50 + 50);
  CHECK(both.keys_examined < 600);
  // A walk in order, of which little is hoped, has a quarter of what the sort costs.
  CHECK(examined("SELECT TOP 100 * FROM c WHERE c.type = 'post' ORDER BY c.at DESC").documents_examined <= 250 + 65);
}

TEST_CASE("strings that differ only after their first 256 bytes are in order all the same") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {})));
  const std::string start(300, 'x');
  for (const char* end : {"b", "a", "c"}) {
    fixture.put(std::string("p:") + (end[0] == 'a'   ? "3"
                                     : end[0] == 'b' ? "1"
                                                     : "2"),
                "{\"s\":\"" + start + end + "\"}");
  }
  fixture.wait_for_automatic_index();
  CHECK(fixture.ask("SELECT VALUE RIGHT(c.s, 1) FROM c ORDER BY c.s") == R"(["a","b","c"])");
  CHECK_FALSE(fixture.last->presorted);
  CHECK(fixture.ask("SELECT VALUE c._id FROM c WHERE c.s > \"" + start + "a\" AND c.s < \"" + start + "c\"") ==
        R"(["p:1"])");
}

TEST_CASE("pages in the order of an automatic index stay in it when a value is written that it cannot hold") {
  const bool down = GENERATE(false, true);
  const std::string long_text = "\"" + std::string(600, 'x') + "\"";
  const int kind = GENERATE(0, 1, 2);
  const std::string late = std::array{std::string("[1]"), std::string(R"({"x":1})"), long_text}[kind];
  const bool container = GENERATE(false, true);
  CAPTURE(down, late, container);
  partitioning::CreateDatabaseOptions options = container_options(policy_of({"/*"}, {}));
  if (!container) {
    options = {};
    options.partitioned = true;
    options.auto_index = true;
  }
  SqlFixture fixture(options);
  std::vector<std::string> expected;
  for (int i = 100; i < 130; ++i) {
    fixture.put("p:" + std::to_string(i), R"({"n":)" + std::to_string(i / 4) + "}");
    expected.push_back("p:" + std::to_string(i));
  }
  fixture.wait_for_automatic_index();
  if (down) std::ranges::reverse(expected);
  const auto write_late = [&] {
    fixture.put("p:late", R"({"n":)" + late + "}");
    if (!down) expected.emplace_back("p:late");
  };
  std::vector<std::string> ids;
  if (container) {
    const auto query =
        octavo::tests::parse_sql(std::string("SELECT VALUE c._id FROM c ORDER BY c.n") + (down ? " DESC" : ""));
    sql::SqlOptions page_options;
    page_options.page_items_max = 7;
    std::optional<std::string> continuation;
    do {
      const auto page = fixture.page(query, {}, page_options, continuation);
      REQUIRE(page.error == "");
      CHECK(fixture.last->presorted);
      const json::value shown = json::parse(SqlFixture::joined(page.results));
      for (const auto& id : shown.as_array()) ids.emplace_back(id.as_string());
      if (!continuation) write_late();
      continuation = page.continuation;
    } while (continuation);
    fixture.page(query, {}, page_options);
    CHECK_FALSE(fixture.last->presorted);
  } else {
    json::object request{{"selector", json::parse(R"({"n":{"$gte":0}})")},
                         {"sort", json::array{json::object{{"n", down ? "desc" : "asc"}}}},
                         {"limit", 7}};
    const std::string first = json::serialize(request);
    const auto sorts = [&] {
      return (*run_task(prepare_find(fixture.indexes(), first, {}, false)))->plans[0].sort_in_memory;
    };
    CHECK_FALSE(sorts());
    for (std::size_t found = 7; found == 7;) {
      const auto page = fixture.find(json::serialize(request));
      found = ids_of(page).size();
      for (const std::string& id : ids_of(page)) ids.push_back(id);
      if (!request.contains("bookmark")) write_late();
      request["bookmark"] = page.at("bookmark");
    }
    // The plan made before is no longer valid.
    CHECK(sorts());
  }
  CHECK(ids == expected);
}

TEST_CASE("_find over an automatic index gives what a scan gives") {
  const bool container = GENERATE(false, true);
  partitioning::CreateDatabaseOptions options;
  options.partitioned = true;
  options.q = 2;
  auto scanned = options;
  options.auto_index = true;
  if (container) options = container_options(policy_of({"/*"}, {}), 2);
  SqlFixture indexed(options);
  SqlFixture plain(scanned);
  Words words(container ? 11 : 12);
  std::size_t by_index = 0;
  edit_both(indexed, plain, words, 900, 3, 150);
  indexed.indexes().catalog().value();
  indexed.wait_for_automatic_index();
  for (std::size_t i = 0; i < octavo::tests::rounds(300); ++i) {
    const std::string partition = words.below(2) == 0 ? "" : "p" + std::to_string(words.below(4));
    const std::string selector = words.selector();
    CAPTURE(selector, partition);
    auto expected = ids_of(plain.find(R"({"limit":1000,"selector":)" + selector + "}", partition));
    std::ranges::sort(expected);
    auto found = ids_of(indexed.find(R"({"limit":1000,"selector":)" + selector + "}", partition));
    std::ranges::sort(found);
    REQUIRE(found == expected);
    auto by_pages = indexed.find_all_pages({{"selector", json::parse(selector)}}, 4, partition);
    std::ranges::sort(by_pages);
    REQUIRE(by_pages == expected);
    const auto explained = indexed.explain(R"({"selector":)" + selector + "}", partition);
    by_index += !explained->plans[0].branches.empty() && explained->plans[0].branches[0].index ? 1 : 0;
    // In order, by whatever is there to be sorted by.
    const std::string request = R"({"limit":1000,"fields":["n"],"sort":[{"n":"desc"}],"selector":)" + selector + "}";
    REQUIRE(indexed.find(request, partition).at("docs") == plain.find(request, partition).at("docs"));
  }
  CHECK(by_index > octavo::tests::rounds(100));
  CHECK(indexed.index_problems() == std::vector<std::string>{});
}

TEST_CASE("a database without partitions is indexed automatically when asked to") {
  partitioning::CreateDatabaseOptions options;
  options.auto_index = true;
  SqlFixture fixture(options);
  for (int i = 0; i < 200; ++i) fixture.put("d" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  fixture.wait_for_automatic_index();
  CHECK(ids_of(fixture.find(R"({"selector":{"n":17}})")) == std::vector<std::string>{"d17"});
  const auto explained = fixture.explain(R"({"selector":{"n":17}})");
  REQUIRE(explained->plans[0].branches[0].index);
  CHECK(explained->plans[0].branches[0].index->definition->name == "/n");
  fixture.restart();
  CHECK(ids_of(fixture.find(R"({"selector":{"n":{"$gt":197}},"sort":[{"n":"desc"}]})")) ==
        std::vector<std::string>{"d199", "d198"});
  CHECK(fixture.index_problems() == std::vector<std::string>{});
}

TEST_CASE("a changed policy builds a new index while the one before serves") {
  SqlFixture fixture(container_options(policy_of({"/a/?"}, {"/*"})));
  for (int i = 0; i < 300; ++i) {
    fixture.put("p" + std::to_string(i % 3) + ":" + std::to_string(i),
                R"({"a":)" + std::to_string(i) + R"(,"b":)" + std::to_string(i) + "}");
  }
  fixture.wait_for_automatic_index();
  CHECK(fixture.ask("SELECT VALUE c.a FROM c WHERE c.b = 5") == "[5]");
  CHECK_FALSE(ran_by_automatic(fixture));
  REQUIRE(fixture.database->set_definition(container_with(policy_of({"/*"}, {"/a/?"}))));
  // Whatever has been built so far, the answers are right.
  for (int i = 0; i < 50; ++i) {
    CHECK(fixture.ask("SELECT VALUE c.a FROM c WHERE c.a = " + std::to_string(i)) == "[" + std::to_string(i) + "]");
    fixture.put("new:" + std::to_string(i), R"({"b":"new"})");
  }
  fixture.wait_for_automatic_index();
  CHECK(fixture.ask("SELECT VALUE c.a FROM c WHERE c.b = 5") == "[5]");
  CHECK(ran_by_automatic(fixture));
  CHECK(fixture.ask("SELECT VALUE COUNT(1) FROM c WHERE c.b = \"new\"") == "[50]");
  CHECK(fixture.index_problems() == std::vector<std::string>{});
  REQUIRE(fixture.database->set_definition(container_with({{"indexingMode", "none"}})));
  CHECK(fixture.ask("SELECT VALUE c.a FROM c WHERE c.b = 6") == "[6]");
  CHECK_FALSE(ran_by_automatic(fixture));
}

TEST_CASE("a check finds entries of an automatic index that are missing or too many") {
  SqlFixture fixture(container_options(policy_of({"/*"}, {})));
  for (int i = 0; i < 100; ++i) fixture.put("p:" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  fixture.wait_for_automatic_index();
  CHECK(fixture.index_problems() == std::vector<std::string>{});
  auto& partition = fixture.database->physical_partition(0);
  std::promise<void> done;
  partition.run_index_task(
      [](storage::WriteTransaction& transaction, storage::Tree tree) -> Expected<void> {
        storage::Cursor cursor(transaction, tree);
        const auto row = cursor.seek(std::string("\0\0\0\1\1", 5));
        const std::string key(row->key);
        std::string other = key;
        other.back() = 'z';
        OCTAVO_TRY_VOID(transaction.put(tree, other, row->value));
        OCTAVO_TRY_VOID(transaction.erase(tree, key));
        return {};
      },
      [&](const Expected<void>&) { done.set_value(); });
  done.get_future().wait();
  CHECK(fixture.index_problems().size() == 2);
}

TEST_CASE("a logical partition that becomes large while its documents are being indexed is found whole") {
  EngineFixture engine;
  const auto database = engine.create("db", {.partitioned = true, .q = 1});
  auto& partition = database->physical_partition(0);
  const auto id_of = [](std::uint64_t number) { return "p:" + std::to_string(100 + number); };
  // The entries of this document are as many as one step of building takes.
  const std::string last_of_step = id_of(30) + std::string(400, 'x');
  std::string wide = R"({"n":30,"t":[0)";
  for (int i = 1; i < 25'000; ++i) wide += "," + std::to_string(i);
  wide += "]}";
  for (std::uint64_t i = 0; i + 1 < scoped_documents_min; ++i) {
    if (i == 30) {
      EngineFixture::put(*database, last_of_step, wide);
    } else {
      EngineFixture::put(*database, id_of(i), R"({"n":)" + std::to_string(i) + "}");
    }
  }

  const auto automatic = AutomaticIndex::of_everything(StringOrder::bytes);
  const auto indexes = std::make_shared<LocalIndexes>(partition, nullptr, "db");
  partition.set_observer(indexes);
  LocalIndexes::Index first_step;
  std::promise<bool> written;
  bool after_first_step = true;
  indexes->reconcile({automatic_definition(automatic)}, [&] {
    if (!std::exchange(after_first_step, false)) return;
    first_step = indexes->indexes()->front();
    // In the writer's queue before the next step.
    std::vector<storage::DocumentWrite> writes(1);
    writes[0].id = id_of(scoped_documents_min - 1);
    writes[0].partition_key = std::string_view(writes[0].id).substr(0, 1);
    writes[0].body = R"({"n":63})";
    partition.write(std::move(writes), {},
                    [&](const auto& results) { written.set_value(results.front().has_value()); });
  });
  CHECK(written.get_future().get());
  CHECK(first_step.stage == LocalIndexes::Stage::building);
  CHECK(first_step.cursor == last_of_step);
  const auto is_ready = [&] { return indexes->indexes()->front().stage == LocalIndexes::Stage::ready; };
  const auto deadline = std::chrono::steady_clock::now() + octavo::tests::patiently(std::chrono::seconds(20));
  while (!is_ready() && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  indexes->shut_down();
  REQUIRE(is_ready());

  const std::uint32_t number = first_step.number;
  {
    const auto snapshot = database->snapshot(0);
    REQUIRE(snapshot);
    CHECK(snapshot->index_entry(AutomaticRows::scoped_mark(number, "p")).value());
  }
  IndexView view{automatic_path_definition(automatic, *FieldPath::parse("n")), nullptr, {number}, {true}, {0}};
  {
    auto reader = IndexReader::open(*database, view, {"p", std::nullopt});
    REQUIRE(reader);
    std::uint64_t rows = 0;
    for (auto row = reader->seek(""); row; row = reader->next()) ++rows;
    CHECK(rows == scoped_documents_min);
  }
  view.definition = automatic_definition(automatic);
  storage::CheckReport report;
  REQUIRE(check_automatic_index(*database, view, report));
  CHECK(report.problems == std::vector<std::string>{});
}

TEST_CASE("an automatic index has documents that had expired when it was built") {
  SqlFixture fixture(container_options({{"indexingMode", "none"}}, 2));
  for (int i = 0; i < 200; ++i) {
    fixture.put("p" + std::to_string(i % 2) + ":" + std::to_string(i), R"({"n":)" + std::to_string(i) + "}");
  }
  octavo::tests::set_all_expired(*fixture.database, true);
  REQUIRE(fixture.database->set_definition(container_with(policy_of({"/*"}, {}))));
  fixture.wait_for_automatic_index();
  for (const bool expired : {true, false}) {
    octavo::tests::set_all_expired(*fixture.database, expired);
    CHECK(fixture.ask("SELECT VALUE c.n FROM c WHERE c.n = 5") == (expired ? "[]" : "[5]"));
    CHECK(ran_by_automatic(fixture));
    CHECK(fixture.ask("SELECT VALUE c.n FROM c WHERE c.n = 5", {}, in_partition("p1")) == (expired ? "[]" : "[5]"));
    CHECK(fixture.index_problems() == std::vector<std::string>{});
  }
}
