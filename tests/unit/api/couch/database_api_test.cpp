#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

TEST_CASE("a database is created once") {
  CouchApiFixture couch;
  const auto put = couch.put("/shop");
  CHECK(put.status == 201);
  CHECK(put.body == "{\"ok\":true}\n");
  CHECK(put.header("Location") == "http://localhost/shop");
  const auto again = couch.put("/shop");
  CHECK(again.status == 412);
  CHECK(again.body ==
        "{\"error\":\"file_exists\",\"reason\":\"The database could not be created, the file already exists.\"}\n");
}

TEST_CASE("a database name has rules") {
  CouchApiFixture couch;
  const auto put = couch.put("/Shop");
  CHECK(put.status == 400);
  CHECK(text(put.json(), "error") == "illegal_database_name");
}

TEST_CASE("a database name may hold a slash") {
  CouchApiFixture couch;
  CHECK(couch.put("/a%2Fb").status == 201);
  CHECK(text(couch.get("/a%2Fb").json(), "db_name") == "a/b");
}

TEST_CASE("bad creation parameters are refused with their names") {
  CouchApiFixture couch;
  CHECK(text(couch.put("/a?q=x").json(), "reason") == "The `q` value should be a positive integer.");
  CHECK(text(couch.put("/a?n=0").json(), "reason") == "The `n` value should be a positive integer.");
  CHECK(text(couch.put("/a?partitioned=maybe").json(), "reason") == "Invalid `partitioned` parameter");
}

TEST_CASE("information about a database counts its documents") {
  CouchApiFixture couch;
  couch.put("/shop?partitioned=true&q=2");
  const auto rev = text(couch.put("/shop/p:1", "{}").json(), "rev");
  couch.put("/shop/p:2", "{}");
  couch.del("/shop/p:1?rev=" + rev);
  const auto info = couch.get("/shop").json();
  CHECK(info.at("doc_count") == 1);
  CHECK(info.at("doc_del_count") == 1);
  CHECK(info.at("props") == boost::json::value({{"partitioned", true}}));
  CHECK(info.at("cluster").at("q") == 2);
  CHECK(text(info, "update_seq").starts_with("3-"));
  CHECK(couch.send("HEAD", "/shop", "").status == 200);
}

TEST_CASE("a deleted database is gone and may come again, empty") {
  CouchApiFixture couch;
  couch.put("/shop");
  couch.put("/shop/a", "{}");
  CHECK(couch.del("/shop").status == 200);
  CHECK(couch.get("/shop").status == 404);
  CHECK(couch.del("/shop").status == 404);
  CHECK(couch.put("/shop").status == 201);
  CHECK(couch.get("/shop/a").status == 404);
}

TEST_CASE("deleting a database with a revision is a mistake") {
  CouchApiFixture couch;
  couch.put("/shop");
  CHECK(couch.del("/shop?rev=1-a").status == 400);
  CHECK(couch.get("/shop").status == 200);
}

TEST_CASE("a partition tells its counts") {
  CouchApiFixture couch;
  couch.put("/shop?partitioned=true");
  couch.put("/shop/p:1", R"({"x":1})");
  couch.put("/shop/q:1", "{}");
  const auto info = couch.get("/shop/_partition/p").json();
  CHECK(info.at("doc_count") == 1);
  CHECK(info.at("doc_del_count") == 0);
  CHECK(text(info, "partition") == "p");
  CHECK(info.at("sizes").at("external").as_int64() > 0);
}

TEST_CASE("partition paths that do not exist") {
  CouchApiFixture couch;
  couch.put("/shop?partitioned=true");
  CHECK(text(couch.get("/shop/_partition").json(), "reason") == "invalid_partition_req");
  CHECK(couch.get("/shop/_partition/p/_nope").status == 404);
  CHECK(text(couch.get("/shop/_partition/_p").json(), "reason") == "Partition must not start with an underscore");
}

TEST_CASE("a partition in the query string must be that of the path") {
  CouchApiFixture couch;
  couch.put("/shop?partitioned=true");
  CHECK(text(couch.get("/shop/_partition/p/_all_docs?partition=q").json(), "reason") ==
        "Conflicting value for `partition` in query string");
}

TEST_CASE("the revs limit is kept") {
  CouchApiFixture couch;
  couch.put("/shop");
  CHECK(couch.get("/shop/_revs_limit").body == "1000\n");
  CHECK(couch.put("/shop/_revs_limit", "20").status == 200);
  CHECK(couch.get("/shop/_revs_limit").body == "20\n");
  CHECK(couch.put("/shop/_revs_limit", "\"x\"").status == 400);
}

TEST_CASE("the purged infos limit is kept") {
  CouchApiFixture couch;
  couch.put("/shop");
  CHECK(couch.get("/shop/_purged_infos_limit").body == "1000\n");
  CHECK(couch.put("/shop/_purged_infos_limit", "5").status == 200);
  CHECK(couch.get("/shop/_purged_infos_limit").body == "5\n");
  CHECK(couch.put("/shop/_purged_infos_limit", "0").status == 400);
}

TEST_CASE("maintenance calls are accepted") {
  CouchApiFixture couch;
  couch.put("/shop");
  CHECK(couch.post("/shop/_compact", "").status == 202);
  CHECK(couch.post("/shop/_compact/nope", "").status == 404);
  CHECK(couch.post("/shop/_view_cleanup", "").status == 202);
  CHECK(couch.post("/shop/_ensure_full_commit", "").status == 201);
  CHECK(couch.post("/shop/_sync_shards", "").status == 202);
}

TEST_CASE("shards cover the hash space and a document lives in one of them") {
  CouchApiFixture couch;
  couch.put("/shop?q=2");
  const auto shards = couch.get("/shop/_shards").json().at("shards").as_object();
  CHECK(shards.size() == 2);
  CHECK(shards.contains("00000000-7fffffff"));
  CHECK(shards.contains("80000000-ffffffff"));
  CHECK(shards.contains(text(couch.get("/shop/_shards/some-document").json(), "range")));
}
