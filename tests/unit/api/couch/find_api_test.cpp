#include <catch2/catch.hpp>

#include "api/models/database_properties.h"
#include "query/database/database_services.h"
#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

namespace {

struct FindApi {
  CouchApiFixture couch{
      {}, {.extensions = octavo::query::DatabaseServices::factory(nullptr, octavo::api::read_definition)}};

  FindApi() {
    couch.put("/db?q=2");
    couch.put("/db/a", R"({"name":"Ann"})");
    couch.put("/db/b", R"({"name":"Bob"})");
  }
};

/// A selector for Ann, and for as many who are not there.
std::string asking_for_ann_and(std::size_t others) {
  std::string names = R"(["Ann")";
  for (std::size_t i = 0; i < others; ++i) names += ",\"missing" + std::to_string(i) + "\"";
  return R"({"selector":{"name":{"$in":)" + names + "]}}}";
}

}  // namespace

TEST_CASE("a long query finds what a short one finds") {
  FindApi subject;
  const std::size_t others = GENERATE(3, 20'000);
  const auto reply = subject.couch.post("/db/_find", asking_for_ann_and(others));
  REQUIRE(reply.status == 200);
  const auto found = reply.json().at("docs").as_array();
  REQUIRE(found.size() == 1);
  CHECK(found[0].at("_id") == "a");
}

TEST_CASE("a long query can be explained, and its charge estimated") {
  FindApi subject;
  const std::string query = asking_for_ann_and(20'000);
  const auto explained = subject.couch.post("/db/_explain", query);
  CHECK(explained.status == 200);
  CHECK(text(explained.json(), "dbname") == "db");
  CHECK(subject.couch.post("/db/_find", query, {{"Prefer", "dry-run"}}).status == 200);
}

TEST_CASE("_explain shows the request, its plan, and why other indexes are not used") {
  FindApi subject;
  const auto index = subject.couch.post("/db/_index", R"({"index":{"fields":["age"]},"ddoc":"ages","name":"by-age"})");
  REQUIRE(index.status == 200);
  const auto reply = subject.couch.post("/db/_explain", R"({"selector":{"name":"Ann"},"fields":["name"],"limit":5})");
  REQUIRE(reply.status == 200);
  const auto shown = reply.json();
  CHECK(shown.at("dbname") == "db");
  CHECK(shown.at("index").at("name") == "_all_docs");
  CHECK(shown.at("selector") == boost::json::parse(R"({"name":{"$eq":"Ann"}})"));
  CHECK(shown.at("fields") == boost::json::parse(R"(["name"])"));
  CHECK(shown.at("opts").at("fields") == shown.at("fields"));
  CHECK(shown.at("opts").at("limit") == 5);
  CHECK(shown.at("opts").at("bookmark") == "nil");
  CHECK(shown.at("mrargs").at("include_docs") == true);
  CHECK(shown.at("mrargs").at("direction") == "fwd");
  CHECK(shown.at("covering") == false);
  CHECK(shown.at("selector_hints").at(0).at("indexable_fields") == shown.at("fields"));
  CHECK(shown.at("plan").at("branches").at(0).at("tests_documents") == true);
  REQUIRE(shown.at("index_candidates").as_array().size() == 1);
  const auto& candidate = shown.at("index_candidates").at(0);
  CHECK(candidate.at("index").at("name") == "by-age");
  CHECK(candidate.at("analysis").at("usable") == false);
  CHECK(candidate.at("analysis").at("reasons").at(0).at("name") == "field_mismatch");
}

TEST_CASE("_explain of a request for a text index shows its query") {
  FindApi subject;
  const auto index = subject.couch.post("/db/_index", R"({"index":{},"ddoc":"texts","name":"all","type":"text"})");
  REQUIRE(index.status == 200);
  const auto shown =
      subject.couch.post("/db/_explain", R"({"selector":{"$text":"ann"},"limit":1000,"sort":[{"age:number":"desc"}]})")
          .json();
  CHECK(shown.at("index").at("type") == "text");
  CHECK(shown.at("selector") == boost::json::parse(R"({"$text":"ann"})"));
  CHECK(shown.at("opts").at("limit") == 1000);
  CHECK(shown.at("limit") == 200);
  CHECK(shown.at("sort") == boost::json::parse(R"(["-age:number<number>"])"));
  CHECK(shown.at("partition").is_null());
}

TEST_CASE("a long query that makes no sense is refused like a short one") {
  FindApi subject;
  const std::string padding(200'000, ' ');
  const auto refused = subject.couch.post("/db/_find", R"({"selector":{"name":{"$in":5}}})" + padding);
  CHECK(refused.status == 400);
  CHECK(text(refused.json(), "error") == "bad_arg");
}

TEST_CASE("a query that lists too many values is refused") {
  FindApi subject;
  for (const char* target : {"/db/_find", "/db/_explain"}) {
    const auto refused = subject.couch.post(target, asking_for_ann_and(100'000));
    CHECK(refused.status == 400);
    CHECK(text(refused.json(), "error") == "invalid_selector");
    CHECK(text(refused.json(), "reason") == "Selector lists over 100000 values in $in, $nin and $all");
  }
}

TEST_CASE("a page of documents is followed by its bookmark, its statistics and its warnings") {
  FindApi subject;
  for (int i = 0; i < 13; ++i) subject.couch.put("/db/other" + std::to_string(i), R"({"name":"Eve"})");
  const auto reply =
      subject.couch.post("/db/_find", R"({"selector":{"name":"Ann"},"bookmark":"nil","execution_stats":true})");
  CHECK(reply.body.starts_with("{\"docs\":[\n{\"_id\":\"a\","));
  CHECK(reply.body.find("}\n],\n\"bookmark\":\"") != std::string::npos);
  CHECK(reply.body.ends_with("\"}\n"));
  const auto shown = reply.json();
  CHECK(shown.at("bookmark") != "nil");
  CHECK(shown.at("execution_stats").at("total_docs_examined") == 15);
  CHECK(shown.at("execution_stats").at("total_quorum_docs_examined") == 0);
  CHECK(shown.at("execution_stats").at("results_returned") == 1);
  CHECK(shown.at("execution_stats").at("execution_time_ms").is_number());
  CHECK(shown.at("warning") ==
        "No matching index found, create an index to optimize query time.\n"
        "The number of documents examined is high in proportion to the number of results returned. Consider adding a "
        "more specific index to improve this.");
  const auto by_quorum =
      subject.couch.post("/db/_find", R"({"selector":{"name":"Ann"},"r":2,"execution_stats":true})").json();
  CHECK(by_quorum.at("execution_stats").at("total_docs_examined") == 0);
  CHECK(by_quorum.at("execution_stats").at("total_quorum_docs_examined") == 15);
}

TEST_CASE("a page without results has the bookmark of its request, or nil") {
  FindApi subject;
  CHECK(text(subject.couch.post("/db/_find", R"({"selector":{"name":"Eve"}})").json(), "bookmark") == "nil");
  const auto all = subject.couch.post("/db/_find", R"({"selector":{"name":{"$gt":null}}})").json();
  const std::string last = text(all, "bookmark");
  CHECK(last != "nil");
  const auto after =
      subject.couch.post("/db/_find", R"({"selector":{"name":{"$gt":null}},"bookmark":")" + last + "\"}").json();
  CHECK(after.at("docs").as_array().empty());
  CHECK(text(after, "bookmark") == last);
}

TEST_CASE("a count of documents is a member of the reply") {
  FindApi subject;
  const auto reply = subject.couch.post("/db/_find", R"({"selector":{},"count":true})").json();
  CHECK(reply.at("count") == 2);
  CHECK(reply.at("docs").as_array().empty());
}
