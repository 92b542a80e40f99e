#include <catch2/catch.hpp>

#include "base/encoding.h"
#include "support/engine_fixture.h"
#include "unit/api/couch/couch_api_fixture.h"

// How requests are read before they are routed.

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

TEST_CASE("empty segments of a path are ignored") {
  CouchApiFixture couch;
  CHECK(couch.put("//db").status == 201);
  CHECK(couch.put("//db//a/", "{}").status == 201);
  CHECK(couch.get("/db/a").status == 200);
  CHECK(couch.get("/db//_all_docs").status == 200);
}

TEST_CASE("a plus in a path is a space, as in CouchDB, unless the setting says otherwise") {
  octavo::config::Settings settings;
  settings.decode_plus_to_space = false;
  CouchApiFixture plain(settings);
  plain.put("/db");
  CHECK(text(plain.put("/db/a+b", "{}").json(), "id") == "a+b");

  CouchApiFixture couch;
  couch.put("/db");
  CHECK(text(couch.put("/db/a+b", "{}").json(), "id") == "a b");
  CHECK(text(couch.put("/db/a%2Bb", "{}").json(), "id") == "a+b");
  CHECK(text(couch.send("COPY", "/db/a+b", "", {{"Destination", "c+d"}}).json(), "id") == "c d");
}

TEST_CASE("a header can name the method") {
  CouchApiFixture couch;
  CHECK(couch.post("/db", "", {{"X-HTTP-Method-Override", "PUT"}}).status == 201);
  CHECK(couch.get("/db", {{"X-HTTP-Method-Override", "DELETE"}}).status == 200);
  CHECK(couch.get("/db").status == 404);
}

TEST_CASE("a method that the header does not name in CouchDB's form is ignored") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.get("/db", {{"X-HTTP-Method-Override", "delete"}}).status == 200);
  CHECK(couch.get("/db", {{"X-HTTP-Method-Override", "PATCH"}}).status == 200);
  CHECK(couch.get("/db").status == 200);
}

TEST_CASE("a Location names the host that a proxy's clients know") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put(
      "/db/a", "{}", {{"Host", "inner:5984"}, {"X-Forwarded-Host", "db.example.com"}, {"X-Forwarded-Proto", "https"}});
  CHECK(put.header("Location") == "https://db.example.com/db/a");
  const auto ssl = couch.put("/db/b", "{}", {{"Host", "inner:5984"}, {"X-Forwarded-Ssl", "on"}});
  CHECK(ssl.header("Location") == "https://inner:5984/db/b");
  const auto other = couch.put("/db/c", "{}", {{"Host", "inner:5984"}, {"X-Forwarded-Proto", "ftp"}});
  CHECK(other.header("Location") == "http://inner:5984/db/c");
}

TEST_CASE("documents that ask for a replication are refused") {
  CouchApiFixture couch;
  couch.put("/_replicator");
  const auto put = couch.put("/_replicator/r", R"({"source":"a","target":"b"})");
  CHECK(put.status == 501);
  CHECK(text(put.json(), "reason").starts_with("This server does not replicate yet."));
  CHECK(couch.put("/_replicator/_local/checkpoint", "{}").status == 201);
  CHECK(couch.post("/_replicate", R"({"source":"a","target":"b"})").status == 501);
}

TEST_CASE("a temporary view is gone") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.post("/db/_temp_view", R"({"map":"function(d){}"})").status == 410);
}

TEST_CASE("statistics count what requests do") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  couch.get("/db/a");
  couch.get("/db/missing");
  couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"a"},{"_id":"b"},{"_id":"_local/c"}]})");
  couch.put("/db/_local/d", "{}");
  const auto value = [&](const std::string& path) {
    return couch.get("/_node/_local/_stats/couchdb/" + path + "/value").body;
  };
  CHECK(value("database_reads") == "1\n");
  CHECK(value("document_writes") == "2\n");
  CHECK(value("document_inserts") == "2\n");
  CHECK(value("local_document_writes") == "2\n");
  CHECK(value("httpd/bulk_requests") == "1\n");
}

TEST_CASE("an API key of Cloudant's kind has the permissions that _security gives it") {
  octavo::config::Settings settings;
  settings.admins = {{"boss", "secret"}};
  settings.pbkdf2_iterations = 10;
  CouchApiFixture couch(settings);
  const auto basic = [](const std::string& name, const std::string& password) {
    return octavo::tests::Headers{{"Authorization", "Basic " + octavo::crypto::base64_encode(name + ":" + password)}};
  };
  const auto boss = basic("boss", "secret");
  couch.put("/_users", "", boss);
  couch.put("/db", "", boss);
  CHECK(couch.post("/_api/v2/api_keys", "").status == 401);
  const auto made = couch.post("/_api/v2/api_keys", "", boss);
  REQUIRE(made.status == 201);
  const auto key = text(made.json(), "key");
  const auto by_key = basic(key, text(made.json(), "password"));
  CHECK(couch.get("/db", by_key).status == 403);

  const auto put =
      couch.put("/_api/v2/db/db/_security", R"({"cloudant":{")" + key + R"(":["_reader","_replicator"]}})", boss);
  CHECK(put.status == 200);
  CHECK(couch.get("/_api/v2/db/db/_security", boss).body == couch.get("/db/_security", boss).body);
  CHECK(couch.get("/db/_all_docs", by_key).status == 200);
  CHECK(couch.post("/db/_bulk_get", R"({"docs":[]})", by_key).status == 200);
  CHECK(couch.put("/db/a", "{}", by_key).status == 403);
  CHECK(couch.post("/db/_bulk_docs", R"({"docs":[{}]})", by_key).status == 403);
  CHECK(couch.put("/db/_local/checkpoint", "{}", by_key).status == 201);
  CHECK(couch.get("/db").status == 401);
  CHECK(couch.put("/_api/v2/db/db/_security", "{}", by_key).status == 403);
}

TEST_CASE("Cloudant's endpoints of an account show what there is and say what there is not") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.get("/_api/v2/user/config/cors").body ==
        "{\"enable_cors\":false,\"allow_credentials\":false,\"origins\":[]}\n");
  CHECK(couch.put("/_api/v2/user/config/cors", R"({"origins":"*"})").status == 400);
  CHECK(couch.put("/_api/v2/user/config/cors", R"({"origins":["*"],"enable_cors":1})").status == 400);
  CHECK(couch.put("/_api/v2/user/config/cors", R"({"origins":["*"]})").status == 200);
  CHECK(couch.get("/_api/v2/user/config/cors").body ==
        "{\"enable_cors\":true,\"allow_credentials\":true,\"origins\":[\"*\"]}\n");
  CHECK(couch.get("/_api/v2/user/current/databases").body == "{\"databases\":{\"total\":1}}\n");
  CHECK(couch.get("/_api/v2/user/capacity/throughput").status == 501);
}

TEST_CASE("an unknown path of the server is no database") {
  CouchApiFixture couch;
  for (const auto* path : {"/_foo", "/_foo/bar", "/_foo/_bar", "/_foo/_all_docs", "/_node/_local/_foo/bar"}) {
    const auto got = couch.get(path);
    CHECK(got.status == 404);
    CHECK(text(got.json(), "reason").starts_with("There is no such endpoint: /_"));
  }
  CHECK(couch.post("/_foo", "{}").status == 404);
  CHECK(text(couch.put("/_foo").json(), "error") == "illegal_database_name");
  CHECK(couch.post("/_all_dbs", "{}").status == 405);
}
