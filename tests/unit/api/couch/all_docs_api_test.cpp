#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::Received;
using octavo::tests::text;

namespace {

std::string ids(const boost::json::value& list) {
  std::string joined;
  for (const auto& row : list.at("rows").as_array()) {
    if (!joined.empty()) joined += ' ';
    joined += row.as_object().contains("id") ? text(row, "id") : "!" + text(row, "key");
  }
  return joined;
}

void fill(CouchApiFixture& couch, std::string_view database, const std::vector<std::string>& names) {
  std::string docs;
  for (const auto& name : names) docs += (docs.empty() ? "" : ",") + ("{\"_id\":\"" + name + "\",\"n\":1}");
  REQUIRE(couch.post("/" + std::string(database) + "/_bulk_docs", "{\"docs\":[" + docs + "]}").status == 201);
}

void make_listed(CouchApiFixture& couch) {
  couch.put("/db?q=4");
  fill(couch, "db", {"c", "a", "e", "b", "d"});
}

}  // namespace

TEST_CASE("_all_docs has CouchDB's bytes") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  CHECK(couch.get("/db/_all_docs").body ==
        "{\"total_rows\":1,\"offset\":0,\"rows\":[\r\n"
        "{\"id\":\"a\",\"key\":\"a\",\"value\":{\"rev\":\"" +
            rev + "\"}}\r\n]}\n");
}

TEST_CASE("_all_docs of an empty database") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.get("/db/_all_docs").body == "{\"total_rows\":0,\"offset\":0,\"rows\":[\r\n\r\n]}\n");
}

TEST_CASE("_all_docs is sorted over all physical partitions") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(ids(couch.get("/db/_all_docs").json()) == "a b c d e");
  CHECK(ids(couch.get("/db/_all_docs?descending=true").json()) == "e d c b a");
}

TEST_CASE("a range includes both ends unless told otherwise") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(ids(couch.get(R"(/db/_all_docs?startkey="b"&endkey="d")").json()) == "b c d");
  CHECK(ids(couch.get(R"(/db/_all_docs?start_key="b"&end_key="d"&inclusive_end=false)").json()) == "b c");
  CHECK(ids(couch.get(R"(/db/_all_docs?startkey="d"&endkey="b"&descending=true)").json()) == "d c b");
  CHECK(ids(couch.get(R"(/db/_all_docs?startkey="d"&endkey="b"&descending=true&inclusive_end=false)").json()) == "d c");
}

TEST_CASE("a single key, one that is not there, and one that is no string") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(ids(couch.get(R"(/db/_all_docs?key="b")").json()) == "b");
  CHECK(ids(couch.get(R"(/db/_all_docs?key="zz")").json()).empty());
  CHECK(ids(couch.get("/db/_all_docs?key=5").json()).empty());
  CHECK(ids(couch.get("/db/_all_docs?startkey=null").json()) == "a b c d e");
}

TEST_CASE("limit and skip cut the list, and the offset says so") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.get("/db/_all_docs?limit=2&skip=1").json();
  CHECK(ids(got) == "b c");
  CHECK(got.at("total_rows") == 5);
  CHECK(got.at("offset") == 1);
  CHECK(ids(couch.get("/db/_all_docs?limit=0").json()).empty());
  CHECK(couch.get(R"(/db/_all_docs?startkey="c")").json().at("offset").is_null());
}

TEST_CASE("include_docs adds the documents") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.get(R"(/db/_all_docs?key="a"&include_docs=true)").json();
  CHECK(got.at("rows").as_array()[0].at("doc").at("n") == 1);
}

TEST_CASE("keys answers each key in order, missing and repeated ones too") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.post("/db/_all_docs", R"({"keys":["c","nope","a","a",7]})").json();
  CHECK(ids(got) == "c !nope a a !");
  CHECK(text(got.at("rows").as_array()[1], "error") == "not_found");
  CHECK(got.at("rows").as_array()[4].at("key") == 7);
  CHECK(got.at("offset").is_null());
}

TEST_CASE("keys shows deleted documents as such") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto rev = text(couch.get("/db/a").json(), "_rev");
  couch.del("/db/a?rev=" + rev);
  const auto got = couch.get(R"(/db/_all_docs?keys=["a"]&include_docs=true)").json();
  CHECK(got.at("rows").as_array()[0].at("value").at("deleted") == true);
  CHECK(got.at("rows").as_array()[0].at("doc").is_null());
  CHECK(ids(couch.get("/db/_all_docs").json()) == "b c d e");
}

TEST_CASE("parameters of the query string override members of the body") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(ids(couch.post("/db/_all_docs?limit=1", R"({"limit":3,"startkey":"c"})").json()) == "c");
  CHECK(ids(couch.post("/db/_all_docs?startkey=\"d\"", R"({"limit":1,"startkey":"c"})").json()) == "d");
}

TEST_CASE("keys and a range exclude each other") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.get(R"(/db/_all_docs?keys=["a"]&startkey="a")");
  CHECK(got.status == 400);
  CHECK(text(got.json(), "error") == "query_parse_error");
}

TEST_CASE("a bad parameter is a query_parse_error") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(text(couch.get("/db/_all_docs?limit=x").json(), "reason") == "Invalid value for integer: \"x\"");
  CHECK(text(couch.get("/db/_all_docs?descending=x").json(), "reason") == "Invalid boolean parameter: \"x\"");
}

TEST_CASE("queries answers several lists at once") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.post("/db/_all_docs/queries", R"({"queries":[{"limit":1},{"keys":["b"]},{"startkey":"d"}]})");
  REQUIRE(got.status == 200);
  const auto results = got.json().at("results").as_array();
  REQUIRE(results.size() == 3);
  CHECK(ids(results[0]) == "a");
  CHECK(ids(results[1]) == "b");
  CHECK(ids(results[2]) == "d e");
}

TEST_CASE("update_seq is the database's") {
  CouchApiFixture couch;
  make_listed(couch);
  CHECK(text(couch.get("/db/_all_docs?update_seq=true").json(), "update_seq") ==
        text(couch.get("/db").json(), "update_seq"));
}

TEST_CASE("_design_docs lists only design documents") {
  CouchApiFixture couch;
  make_listed(couch);
  couch.put("/db/_design/x", "{}");
  couch.put("/db/_design/y", "{}");
  const auto got = couch.get("/db/_design_docs").json();
  CHECK(ids(got) == "_design/x _design/y");
  CHECK(got.at("total_rows") == 2);
  CHECK(ids(couch.get("/db/_design_docs?descending=true&limit=1").json()) == "_design/y");
}

TEST_CASE("_local_docs lists local documents in either direction") {
  CouchApiFixture couch;
  make_listed(couch);
  for (const auto* name : {"b", "a", "c"}) couch.put("/db/_local/" + std::string(name), R"({"v":1})");
  const auto got = couch.get("/db/_local_docs").json();
  CHECK(ids(got) == "_local/a _local/b _local/c");
  CHECK(got.at("total_rows").is_null());
  CHECK(got.at("rows").as_array()[0].at("value").at("rev") == "0-1");
  CHECK(ids(couch.get("/db/_local_docs?descending=true&limit=2").json()) == "_local/c _local/b");
  CHECK(ids(couch.get(R"(/db/_local_docs?startkey="_local/b")").json()) == "_local/b _local/c");
}

TEST_CASE("a partition lists its own documents") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true&q=4");
  fill(couch, "db", {"p:1", "p:2", "pp:1", "q:1", "o:9"});
  CHECK(ids(couch.get("/db/_partition/p/_all_docs").json()) == "p:1 p:2");
  CHECK(ids(couch.get("/db/_partition/p/_all_docs?descending=true").json()) == "p:2 p:1");
  CHECK(ids(couch.get(R"(/db/_partition/p/_all_docs?startkey="p:2")").json()) == "p:2");
  CHECK(ids(couch.get(R"(/db/_partition/p/_all_docs?endkey="z")").json()) == "p:1 p:2");
  CHECK(ids(couch.get("/db/_partition/missing/_all_docs").json()).empty());
}

TEST_CASE("a database without partitions refuses partition requests") {
  CouchApiFixture couch;
  make_listed(couch);
  const auto got = couch.get("/db/_partition/p/_all_docs");
  CHECK(got.status == 400);
  CHECK(text(got.json(), "reason") == "database is not partitioned");
}

TEST_CASE("a list larger than a slice is streamed whole and in order") {
  CouchApiFixture couch;
  couch.put("/db?q=3");
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back("doc" + std::to_string(100'000 + i));
  fill(couch, "db", names);

  const auto got = couch.get("/db/_all_docs?include_docs=true");

  CHECK(got.streamed);
  const auto rows = got.json().at("rows").as_array();
  REQUIRE(rows.size() == names.size());
  bool sorted = true;
  for (std::size_t i = 0; i < rows.size(); ++i) sorted = sorted && text(rows[i], "id") == names[i];
  CHECK(sorted);
}
