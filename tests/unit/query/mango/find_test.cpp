#include <thread>

#include <catch2/catch.hpp>

#include "find_fixture.h"

using namespace octavo;
using namespace octavo::query;
using octavo::tests::EngineFixture;
using octavo::tests::FindFixture;
using octavo::tests::ids_of;
using Ids = std::vector<std::string>;
namespace json = boost::json;

TEST_CASE("a query of a partition by a local index returns its documents spliced, in index order") {
  FindFixture fixture({true, 2});
  for (int i = 0; i < 10; ++i) {
    EngineFixture::put(*fixture.database, "p:" + std::to_string(i), R"({"age":)" + std::to_string(100 - i) + "}");
    EngineFixture::put(*fixture.database, "q:" + std::to_string(i), R"({"age":)" + std::to_string(100 - i) + "}");
  }
  fixture.create_index(R"({"index":{"fields":["age"]},"ddoc":"age"})");
  const auto reply = fixture.find(R"({"selector":{"age":{"$gt":97}},"execution_stats":true})", "p");
  REQUIRE(ids_of(reply) == Ids{"p:2", "p:1", "p:0"});
  CHECK(reply.at("docs").at(0).as_object().begin()->key() == "_id");
  CHECK(reply.at("docs").at(0).at("_rev").as_string().starts_with("1-"));
  CHECK(reply.at("execution_stats").at("total_keys_examined") == 3);
  CHECK(reply.at("execution_stats").at("total_docs_examined") == 3);
  CHECK_FALSE(reply.contains("warning"));
}

TEST_CASE("an index on two fields answers a selector on the first alone, documents without the second included") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"userid":"u","date":"2019"})");
  EngineFixture::put(*fixture.database, "2", R"({"userid":"u"})");
  EngineFixture::put(*fixture.database, "3", R"({"userid":"v","date":"2019"})");
  fixture.create_index(R"({"index":{"fields":["userid","date"]},"ddoc":"x"})");
  const auto reply = fixture.find(R"({"selector":{"userid":"u"},"use_index":"x","execution_stats":true})");
  CHECK(ids_of(reply) == Ids{"2", "1"});
  CHECK(reply.at("execution_stats").at("total_keys_examined") == 2);
  CHECK_FALSE(reply.contains("warning"));
}

TEST_CASE("a partial index is used when the selector implies its filter") {
  FindFixture fixture({true, 1});
  EngineFixture::put(*fixture.database, "o:1", R"({"type":"order","userid":"u","date":"2019-01-28"})");
  EngineFixture::put(*fixture.database, "o:2", R"({"type":"item","userid":"u","date":"2019-01-28"})");
  fixture.create_index(
      R"({"index":{"partial_filter_selector":{"type":"order"},"fields":["userid","date"]},"ddoc":"c","partitioned":false})");
  const auto reply = fixture.find(R"({"selector":{"type":"order","userid":"u"},"execution_stats":true})");
  CHECK(ids_of(reply) == Ids{"o:1"});
  CHECK(reply.at("execution_stats").at("total_keys_examined") == 1);
  const auto other = fixture.explain(R"({"selector":{"userid":"u"}})");
  CHECK(other->plans[0].uses_primary());
}

TEST_CASE("fields are cut out nested, with the spelling of their numbers") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":{"b":1.50,"c":2},"n":12345678901234567890,"x":[{"y":1e3}]})");
  const std::string body = R"({"selector":{},"fields":["_id","a.b","n","none","x.0.y"]})";
  auto prepared = octavo::tests::run_task(prepare_find(fixture.indexes(), body, "", false));
  FindExecution execution(fixture.database, *prepared, "", 1000);
  REQUIRE(execution.run({10}));
  CHECK(execution.output() == R"({"_id":"1","a":{"b":1.50},"n":12345678901234567890,"x":{"0":{"y":1e3}}})");
}

TEST_CASE("a covering index answers without reading documents") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":"x","b":1.0,"c":true})");
  EngineFixture::put(*fixture.database, "2", R"({"a":"x","c":true})");
  fixture.create_index(R"({"index":{"fields":["a","b"]},"ddoc":"ab"})");
  const auto reply = fixture.find(R"({"selector":{"a":"x"},"fields":["_id","b"],"execution_stats":true})");
  CHECK(reply.at("docs") == json::parse(R"([{"_id":"2"},{"_id":"1","b":1.0}])"));
  CHECK(reply.at("execution_stats").at("total_docs_examined") == 0);
  const auto tested =
      fixture.find(R"({"selector":{"a":"x","b":{"$mod":[1,0]}},"fields":["_id"],"execution_stats":true})");
  CHECK(tested.at("execution_stats").at("total_docs_examined") == 0);
}

TEST_CASE("a sort without an index is done in memory, in both directions and by several fields") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":2,"b":"x"})");
  EngineFixture::put(*fixture.database, "2", R"({"a":1,"b":"x"})");
  EngineFixture::put(*fixture.database, "3", R"({"a":2,"b":"y"})");
  EngineFixture::put(*fixture.database, "4", R"({"b":"y"})");
  CHECK(ids_of(fixture.find(R"({"selector":{},"sort":["a"]})")) == Ids{"2", "1", "3"});
  CHECK(ids_of(fixture.find(R"({"selector":{},"sort":[{"a":"desc"},{"b":"asc"}]})")) == Ids{"1", "3", "2"});
  CHECK(ids_of(fixture.find(R"({"selector":{},"sort":[{"a":"desc"},{"b":"desc"}],"limit":1,"skip":1})")) == Ids{"1"});
}

TEST_CASE("a sort that is too large for memory names the index to create") {
  config::Settings settings;
  settings.sort_bytes_max = 2000;
  FindFixture fixture({}, settings);
  for (int i = 0; i < 100; ++i) EngineFixture::put(*fixture.database, std::to_string(i), R"({"a":1})");
  const auto reply = fixture.find(R"({"selector":{},"sort":["a"],"limit":1000})");
  CHECK(reply.at("error") == "no_usable_index");
  CHECK(std::string(reply.at("reason").as_string()).find(R"({"fields":[{"a":"asc"}]})") != std::string::npos);
  // A page that needs few rows in memory is fine.
  CHECK(ids_of(fixture.find(R"({"selector":{},"sort":["a"],"limit":3})")).size() == 3);
}

TEST_CASE("an alternative between fields is a union of indexes without duplicates") {
  FindFixture fixture;
  for (int i = 0; i < 200; ++i) {
    EngineFixture::put(*fixture.database, std::to_string(1000 + i),
                       R"({"a":)" + std::to_string(i % 50) + R"(,"b":)" + std::to_string(i % 40) + "}");
  }
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a"})");
  fixture.create_index(R"({"index":{"fields":["b"]},"ddoc":"b"})");
  fixture.wait_for_indexes();
  const auto reply = fixture.find(R"({"selector":{"$or":[{"a":0},{"b":0}]},"limit":100,"execution_stats":true})");
  auto ids = ids_of(reply);
  std::ranges::sort(ids);
  // i % 50 == 0: 0 50 100 150; i % 40 == 0: 0 40 80 120 160
  CHECK(ids == Ids{"1000", "1040", "1050", "1080", "1100", "1120", "1150", "1160"});
  CHECK(reply.at("execution_stats").at("total_keys_examined") == 9);
  json::object request{{"selector", json::parse(R"({"$or":[{"a":0},{"b":0}]})")}};
  auto paged = fixture.find_all_pages(request, 3);
  std::ranges::sort(paged);
  CHECK(paged == ids);
}

TEST_CASE("pages of a union hold when another index becomes the better one of a side") {
  FindFixture fixture({true, 1});
  Ids expected;
  for (int i = 100; i < 113; ++i) {
    EngineFixture::put(*fixture.database, "p:" + std::to_string(i), i < 110 ? R"({"a":5,"b":2})" : R"({"c":1})");
    expected.push_back("p:" + std::to_string(i));
  }
  EngineFixture::put(*fixture.database, "p:200", R"({"a":0,"b":2})");
  for (int i = 300; i < 340; ++i) EngineFixture::put(*fixture.database, "p:" + std::to_string(i), "{}");
  for (const std::string name : {"a", "b", "c"}) {
    fixture.create_index(R"({"index":{"fields":[")" + name + R"("]},"ddoc":")" + name + R"("})");
  }
  fixture.wait_for_indexes();
  json::object request{{"selector", json::parse(R"({"$or":[{"a":5,"b":2},{"c":1}]})")}, {"limit", 6}};
  const auto first_index = [&] {
    const auto prepared = fixture.explain(json::serialize(request), "p");
    REQUIRE(prepared->plans[0].branches.size() == 2);
    return prepared->plans[0].branches[0].index->definition->design_document;
  };
  CHECK(first_index() == "_design/a");
  auto page = fixture.find(json::serialize(request), "p");
  Ids ids = ids_of(page);
  for (int i = 201; i < 209; ++i) {
    EngineFixture::put(*fixture.database, "p:" + std::to_string(i), R"({"a":5,"b":0})");
  }
  CHECK(first_index() == "_design/b");
  while (ids_of(page).size() == 6) {
    request["bookmark"] = page.at("bookmark");
    page = fixture.find(json::serialize(request), "p");
    for (const std::string& id : ids_of(page)) ids.push_back(id);
  }
  CHECK(ids == expected);
  // The last page ended in the second side.
  CHECK(Bookmark::decode(page.at("bookmark").as_string())->branch == 1);
  request["bookmark"] = Bookmark{Bookmark::Kind::combined, 0, "of no index", "key", {}, {}}.encode();
  CHECK(fixture.find(json::serialize(request), "p").at("error") == "invalid_bookmark");
}

TEST_CASE("a bookmark is refused by a sort that it is not of") {
  FindFixture fixture({true, 1});
  for (int i = 0; i < 9; ++i) {
    EngineFixture::put(*fixture.database, "p:" + std::to_string(i), R"({"a":)" + std::to_string(i) + "}");
  }
  json::object request{{"selector", json::object{}}, {"limit", 4}};
  const auto by_id = fixture.find(json::serialize(request), "p").at("bookmark");
  request["sort"] = json::parse(R"(["a"])");
  const auto sorted = fixture.find(json::serialize(request), "p").at("bookmark");
  request["bookmark"] = sorted;
  CHECK(ids_of(fixture.find(json::serialize(request), "p")) == Ids{"p:4", "p:5", "p:6", "p:7"});
  request["bookmark"] = by_id;
  CHECK(fixture.find(json::serialize(request), "p").at("error") == "invalid_bookmark");
  request.erase("sort");
  CHECK(ids_of(fixture.find(json::serialize(request), "p")) == Ids{"p:4", "p:5", "p:6", "p:7"});
  request["bookmark"] = sorted;
  CHECK(fixture.find(json::serialize(request), "p").at("error") == "invalid_bookmark");
}

TEST_CASE("bookmarks resume after the last result, and nonsense is refused") {
  FindFixture fixture({true, 1});
  Ids expected;
  for (int i = 100; i < 130; ++i) {
    EngineFixture::put(*fixture.database, "p:" + std::to_string(i), R"({"a":)" + std::to_string(i / 7) + "}");
    expected.push_back("p:" + std::to_string(i));
  }
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a"})");
  json::object by_index{{"selector", json::parse(R"({"a":{"$gt":0}})")}};
  CHECK(fixture.find_all_pages(by_index, 4, "p") == expected);
  by_index["sort"] = json::parse(R"([{"a":"desc"}])");
  CHECK(fixture.find_all_pages(by_index, 4, "p") == Ids(expected.rbegin(), expected.rend()));
  CHECK(fixture.find_all_pages({{"selector", json::object{}}}, 4, "p") == expected);
  json::object sorted{{"selector", json::object{}}, {"sort", json::parse(R"([{"_id":"desc"}])")}};
  CHECK(fixture.find_all_pages(sorted, 7, "p") == Ids(expected.rbegin(), expected.rend()));

  for (const std::string bookmark : {"x", "AAAA", "g1AAAAA", "AXAAAABBBB", "=="}) {
    const auto reply = fixture.find(R"({"selector":{},"bookmark":")" + bookmark + R"("})", "p");
    CHECK(reply.at("error") == "invalid_bookmark");
  }
  CHECK(fixture.find(R"({"selector":{"a":-1}})", "p").at("bookmark") == "nil");
}

TEST_CASE("use_index is obeyed, or the reply says why not") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":1,"b":1})");
  fixture.create_index(R"({"index":{"fields":["a"]},"ddoc":"a","name":"by-a"})");
  fixture.create_index(R"({"index":{"fields":["a","b"]},"ddoc":"ab"})");
  const auto chosen = [&](std::string_view request) {
    return fixture.explain(request)->plans[0].branches[0].index->definition;
  };
  CHECK(chosen(R"({"selector":{"a":1,"b":1}})")->design_document == "_design/ab");
  CHECK(chosen(R"({"selector":{"a":1,"b":1},"use_index":"a"})")->design_document == "_design/a");
  CHECK(chosen(R"({"selector":{"a":1,"b":1},"use_index":["_design/a","by-a"]})")->design_document == "_design/a");
  CHECK(fixture.find(R"({"selector":{"b":1},"use_index":"a"})").at("warning") ==
        "_design/a was not used because it does not contain a valid index for this query.\n"
        "No matching index found, create an index to optimize query time.");
  CHECK(fixture.find(R"({"selector":{"b":1},"use_index":["a","x"]})")
            .at("warning")
            .as_string()
            .starts_with("_design/a, x was not used because it is not a valid index for this query."));
  CHECK(fixture.find(R"({"selector":{"b":1},"use_index":"a","allow_fallback":false})").at("error") == "invalid_index");
}

TEST_CASE("a partial index named by use_index gives what is in it, on every page") {
  FindFixture fixture;
  Ids live;
  for (int i = 100; i < 130; ++i) {
    const bool archived = i % 3 == 0;
    EngineFixture::put(*fixture.database, std::to_string(i),
                       archived ? R"({"type":"user","status":"archived"})" : R"({"type":"user","status":"live"})");
    if (!archived) live.push_back(std::to_string(i));
  }
  fixture.create_index(
      R"({"index":{"partial_filter_selector":{"status":{"$ne":"archived"}},"fields":["type"]},"ddoc":"l","name":"n"})");
  const json::object whole{{"selector", json::object{{"type", "user"}}}};
  CHECK(fixture.find_all_pages(whole, 100).size() == 30);
  for (const json::value& use_index : {json::value("l"), json::value(json::array{"l", "n"})}) {
    json::object named = whole;
    named["use_index"] = use_index;
    CHECK(fixture.find_all_pages(named, 4) == live);
    // From the entries alone, and sorted in memory.
    named["fields"] = json::array{"_id"};
    CHECK(fixture.find_all_pages(named, 7) == live);
    named["sort"] = json::array{json::object{{"status", "asc"}}};
    CHECK(fixture.find_all_pages(named, 7) == live);
    CHECK_FALSE(fixture.find(json::serialize(named)).contains("warning"));
  }
  CHECK(fixture.find(R"({"selector":{"type":"user"},"count":true,"use_index":"l"})").at("count") == live.size());
  // It cannot serve what says nothing of its field: the reply says so.
  const auto other = fixture.find(R"({"selector":{"status":{"$exists":true}},"use_index":"l","limit":100})");
  CHECK(ids_of(other).size() == 30);
  CHECK(other.contains("warning"));
}

TEST_CASE("a selector of thousands of conditions on one field is answered soon, and right") {
  FindFixture fixture;
  for (int i = 0; i < 20; ++i) {
    EngineFixture::put(*fixture.database, "a" + std::to_string(100'000 + 1'000 * i), R"({"n":1})");
  }
  fixture.create_index(R"({"index":{"fields":["n"]},"ddoc":"n"})");
  fixture.create_index(R"({"index":{"fields":["_id","n"]},"ddoc":"id"})");
  // Those denied are every second one only, all thousands among them.
  json::array unequal, denied;
  for (int i = 0; i < 16'000; ++i) {
    const json::value id("a" + std::to_string(100'000 + i));
    unequal.push_back(json::object{{"$ne", id}});
    if (i % 2 == 0) denied.push_back(json::object{{"_id", id}});
  }
  json::array nowhere;
  for (int i = 0; i < 1'500; ++i) {
    json::array list;
    for (int k = 0; k < 64; ++k) list.push_back(json::value("a" + std::to_string(100'000 + 64 * i + k)));
    nowhere.push_back(json::object{{"$nin", std::move(list)}});
  }
  const Ids expected{"a116000", "a117000", "a118000", "a119000"};
  for (const json::object& selector :
       {json::object{{"_id", json::object{{"$and", unequal}}}}, json::object{{"$nor", denied}},
        json::object{{"n", 1}, {"_id", json::object{{"$and", unequal}}}}}) {
    auto ids = ids_of(fixture.find(json::serialize(json::object{{"selector", selector}})));
    std::ranges::sort(ids);
    CHECK(ids == expected);
  }
  CHECK(ids_of(fixture.find(
                   json::serialize(json::object{{"selector", json::object{{"_id", json::object{{"$and", nowhere}}}}}})))
            .empty());
}

TEST_CASE("$all of one array finds the field that equals it by an automatic index, too") {
  partitioning::CreateDatabaseOptions options;
  options.auto_index = true;
  FindFixture fixture(options);
  EngineFixture::put(*fixture.database, "inside", R"({"a":[[1,2],3],"b":1})");
  EngineFixture::put(*fixture.database, "itself", R"({"a":[1,2],"b":1})");
  EngineFixture::put(*fixture.database, "other", R"({"a":[1,3],"b":1})");
  for (int i = 0; i < 50; ++i) EngineFixture::put(*fixture.database, std::to_string(i), R"({"a":[0],"b":2})");
  fixture.wait_for_automatic_index();
  for (const char* selector : {R"({"a":{"$all":[[1,2]]}})", R"({"b":1,"a":{"$all":[[1,2]]}})"}) {
    INFO(selector);
    auto ids = ids_of(fixture.find(R"({"selector":)" + std::string(selector) + "}"));
    std::ranges::sort(ids);
    CHECK(ids == Ids{"inside", "itself"});
  }
  CHECK(ids_of(fixture.find(R"({"selector":{"a":{"$all":[[1,2],3]}}})")) == Ids{"inside"});
}

TEST_CASE("conflicts are shown when asked for") {
  FindFixture fixture;
  EngineFixture::put(*fixture.database, "1", R"({"a":1})");
  storage::DocumentWrite write;
  write.id = "1";
  write.replicated = true;
  write.body = R"({"a":2})";
  write.history = {*storage::Revision::parse("1-00000000000000000000000000000001")};
  std::vector<storage::DocumentWrite> writes;
  writes.push_back(write);
  REQUIRE(octavo::tests::run_task(fixture.database->write(writes))[0]);
  const auto reply = fixture.find(R"({"selector":{"a":{"$gt":0}},"conflicts":true})");
  REQUIRE(reply.at("docs").as_array().size() == 1);
  CHECK(reply.at("docs").at(0).at("_conflicts").as_array().size() == 1);
  CHECK_FALSE(fixture.find(R"({"selector":{}})").at("docs").at(0).as_object().contains("_conflicts"));

  // Selectors can test them, with or without an index that has their name.
  EngineFixture::put(*fixture.database, "2", "{}");
  const std::string with = R"({"selector":{"_conflicts":{"$exists":true}},"conflicts":true})";
  const std::string without = R"({"selector":{"_conflicts":{"$exists":false}},"conflicts":true})";
  CHECK(ids_of(fixture.find(with)) == Ids{"1"});
  fixture.create_index(R"({"index":{"fields":["_conflicts"]},"ddoc":"c"})");
  CHECK(ids_of(fixture.find(with)) == Ids{"1"});
  CHECK(ids_of(fixture.find(without)) == Ids{"2"});
  CHECK(ids_of(fixture.find(R"({"selector":{"_conflicts":{"$exists":true}}})")).empty());
}

TEST_CASE("a query of the whole database by a global index is up to date with what was written before it") {
  FindFixture fixture({true, 3});
  fixture.create_index(R"({"index":{"fields":["n"]},"ddoc":"n","partitioned":false})");
  for (int i = 0; i < 50; ++i) {
    EngineFixture::put(*fixture.database, "p" + std::to_string(i) + ":x", R"({"n":)" + std::to_string(i) + "}");
    REQUIRE(ids_of(fixture.find(R"({"selector":{"n":)" + std::to_string(i) + "}}")).size() == 1);
  }
  CHECK(fixture.explain(R"({"selector":{"n":3}})")->plans[0].branches[0].index->global);
}

TEST_CASE("bad requests are refused with the dialect's words") {
  FindFixture fixture;
  const auto word = [&](std::string_view body) { return std::string(fixture.find(body).at("error").as_string()); };
  CHECK(word(R"({})") == "missing_required_key");
  CHECK(word(R"({"selector":[]})") == "invalid_selector_json");
  CHECK(word(R"({"selector":{},"foo":1})") == "invalid_key");
  CHECK(word(R"({"selector":{},"limit":-1})") == "invalid_non_neg_integer");
  CHECK(word(R"({"selector":{},"r":0})") == "invalid_pos_integer");
  CHECK(word(R"({"selector":{},"update":1})") == "invalid_boolean");
  CHECK(word(R"({"selector":{},"fields":{}})") == "invalid_fields");
  CHECK(word(R"({"selector":{},"sort":{"a":"asc"}})") == "invalid_sort_json");
  CHECK(word(R"({"selector":{},"sort":[{"a":"up"}]})") == "invalid_sort_dir");
  CHECK(word(R"({"selector":{},"sort":[7]})") == "invalid_sort_field");
  CHECK(word(R"({"selector":{},"use_index":7})") == "invalid_index_name");
  CHECK(word(R"({"selector":{"a":{"$foo":1}}})") == "invalid_operator");
}
