#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

TEST_CASE("_bulk_docs answers in the order of the documents, conflicts among them") {
  CouchApiFixture couch;
  couch.put("/db?q=4");
  couch.put("/db/b", "{}");
  const auto post = couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"a"},{"_id":"b","x":1},{"_id":"c"}]})");
  REQUIRE(post.status == 201);
  const auto results = post.json().as_array();
  REQUIRE(results.size() == 3);
  CHECK(results[0].at("id") == "a");
  CHECK(results[0].at("ok") == true);
  CHECK(results[1] ==
        boost::json::value({{"id", "b"}, {"error", "conflict"}, {"reason", "Document update conflict."}}));
  CHECK(results[2].at("id") == "c");
}

TEST_CASE("_bulk_docs gives ids to documents without") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post("/db/_bulk_docs", R"({"docs":[{"x":1},{"x":2}]})");
  REQUIRE(post.json().as_array().size() == 2);
  CHECK(text(post.json().as_array()[0], "id").size() == 32);
}

TEST_CASE("_bulk_docs without docs is refused") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(text(couch.post("/db/_bulk_docs", "{}").json(), "reason") == "POST body must include `docs` parameter.");
  CHECK(text(couch.post("/db/_bulk_docs", R"({"docs":1})").json(), "reason") == "`docs` parameter must be an array.");
  CHECK(text(couch.post("/db/_bulk_docs", R"({"docs":[],"new_edits":1})").json(), "reason") ==
        "`new_edits` parameter must be a boolean.");
}

TEST_CASE("one invalid document refuses the whole request") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"a"},5]})").status == 400);
  CHECK(couch.get("/db/a").status == 404);
}

TEST_CASE("an error in one document of _bulk_docs affects only its row") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"a","_attachments":{"f":{"data":"aA=="}}},
      {"_id":"b"},{"_id":"c","_foo":1},{"_id":"_d"},{"_id":"e","_rev":"x"}]})");
  REQUIRE(post.status == 201);
  const auto rows = post.json();
  CHECK(text(rows.as_array()[0], "id") == "a");
  CHECK(text(rows.as_array()[0], "error") == "not_implemented");
  CHECK(text(rows.as_array()[1], "rev").starts_with("1-"));
  CHECK(text(rows.as_array()[2], "error") == "doc_validation");
  CHECK(text(rows.as_array()[3], "error") == "illegal_docid");
  CHECK(text(rows.as_array()[4], "error") == "bad_request");
  CHECK(couch.get("/db/b").status == 200);
}

TEST_CASE("replicated documents that cannot be stored are reported, and the others are stored") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post("/db/_bulk_docs", R"({"new_edits":false,"docs":[
      {"_id":"a","_rev":"1-a","_attachments":{"f":{"stub":true}}},{"_id":"b","_rev":"1-b"},{"_id":"c"}]})");
  REQUIRE(post.status == 201);
  const auto rows = post.json();
  REQUIRE(rows.as_array().size() == 2);
  CHECK(text(rows.as_array()[0], "id") == "a");
  // At `not_implemented` PouchDB stops, and CouchDB's replicator tries again for ever.
  CHECK(text(rows.as_array()[0], "error") == "forbidden");
  CHECK(text(rows.as_array()[1], "id") == "c");
  CHECK(text(couch.get("/db/b").json(), "_rev") == "1-b");
}

TEST_CASE("an error in one document refuses an atomic batch") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  const auto post = couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"p:1"},{"_id":"p:2","_foo":1}]})");
  CHECK(post.status == 400);
  CHECK(text(post.json(), "error") == "doc_validation");
  CHECK(couch.get("/db/p:1").status == 404);
}

TEST_CASE("_bulk_docs with new_edits=false keeps the revisions and reports only errors") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post(
      "/db/_bulk_docs", R"({"new_edits":false,"docs":[{"_id":"a","_revisions":{"start":2,"ids":["b","a"]},"x":1}]})");
  CHECK(post.status == 201);
  CHECK(post.body == "[]\n");
  CHECK(text(couch.get("/db/a").json(), "_rev") == "2-b");
}

TEST_CASE("_bulk_docs writes local documents too") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"_local/x","v":1},{"_id":"y"}]})");
  CHECK(post.json().as_array()[0].at("rev") == "0-1");
  CHECK(couch.get("/db/_local/x").status == 200);
}

TEST_CASE("deletions in _bulk_docs leave tombstones") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  const auto post = couch.post("/db/_bulk_docs", R"({"docs":[{"_id":"a","_rev":")" + rev + R"(","_deleted":true}]})");
  CHECK(post.json().as_array()[0].at("ok") == true);
  CHECK(text(couch.get("/db/a").json(), "reason") == "deleted");
}

TEST_CASE("an atomic batch writes everything") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  const auto post = couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"p:1"},{"_id":"p:2","x":1}]})");
  CHECK(post.status == 201);
  CHECK(post.json().as_array().size() == 2);
  CHECK(couch.get("/db/p:2").json().at("x") == 1);
}

TEST_CASE("an atomic batch with a failed precondition writes nothing and names it") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  couch.put("/db/p:2", "{}");
  const auto post = couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"p:1"},{"_id":"p:2"}]})");
  CHECK(post.status == 409);
  CHECK(text(post.json(), "error") == "conflict");
  REQUIRE(post.json().at("results").as_array().size() == 1);
  CHECK(post.json().at("results").as_array()[0].at("id") == "p:2");
  CHECK(couch.get("/db/p:1").status == 404);
}

TEST_CASE("a batch that is too large only as a whole is refused with 403 and writes nothing") {
  octavo::config::Settings settings;
  settings.logical_partition_bytes_max = 100;
  CouchApiFixture couch(settings);
  couch.put("/db?partitioned=true");
  const std::string text_of_60(60, 'x');
  const auto post = couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"p:1","t":")" + text_of_60 +
                                                              R"("},{"_id":"p:2","t":")" + text_of_60 + R"("}]})");
  CHECK(post.status == 403);
  CHECK(couch.get("/db/p:1").status == 404);
  CHECK(couch.put("/db/p:1", R"({"t":")" + text_of_60 + R"("})").status == 201);
}

TEST_CASE("a batch whose revision exists on a replicated branch is a conflict") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  const std::string first = text(couch.put("/db/p:1", "{}").json(), "rev");
  const std::string second = text(couch.put("/db/p:1", R"({"v":2,"_rev":")" + first + R"("})").json(), "rev");
  couch.put("/other?partitioned=true");
  couch.put("/other/p:1", "{}");
  const std::string branch = R"({"new_edits":false,"docs":[{"_id":"p:1","_rev":")" + second + R"(","v":2}]})";
  REQUIRE(couch.post("/other/_bulk_docs", branch).status == 201);
  const auto post = couch.post("/other/_partition/p/_batch",
                               R"({"docs":[{"_id":"p:2"},{"_id":"p:1","_rev":")" + first + R"(","v":2}]})");
  CHECK(post.status == 409);
  REQUIRE(post.json().at("results").as_array().size() == 1);
  CHECK(post.json().at("results").as_array()[0].at("id") == "p:1");
  CHECK(couch.get("/other/p:2").status == 404);
}

TEST_CASE("a batch refuses documents of other partitions and repeated ids") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  CHECK(couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"q:1"}]})").status == 400);
  CHECK(couch.post("/db/_partition/p/_batch", R"({"docs":[{"_id":"p:1"},{"_id":"p:1"}]})").status == 400);
}

TEST_CASE("a batch gives documents without an id one in its partition") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  const auto post = couch.post("/db/_partition/p/_batch", R"({"docs":[{"x":1}]})");
  REQUIRE(post.status == 201);
  CHECK(text(post.json().as_array()[0], "id").starts_with("p:"));
}

TEST_CASE("_bulk_get answers each document or its error") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", R"({"x":1})");
  const auto got =
      couch.post("/db/_bulk_get", R"({"docs":[{"id":"a"},{"id":"b"},{"id":"a","rev":"9-x"},{"id":"a","rev":"zz"}]})");
  REQUIRE(got.status == 200);
  const auto results = got.json().at("results").as_array();
  REQUIRE(results.size() == 4);
  CHECK(results[0].at("docs").as_array()[0].at("ok").at("x") == 1);
  CHECK(results[1].at("docs").as_array()[0].at("error").at("rev") == "undefined");
  CHECK(results[1].at("docs").as_array()[0].at("error").at("reason") == "missing");
  CHECK(results[2].at("docs").as_array()[0].at("error").at("rev") == "9-x");
  CHECK(results[3].at("docs").as_array()[0].at("error").at("reason") == "Invalid rev format");
}

TEST_CASE("_bulk_get is multipart for clients that take that and not JSON") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", R"({"x":1})").json(), "rev");
  const std::string wanted = R"({"docs":[{"id":"a"},{"id":"b"},{"id":"a","rev":"zz"}]})";

  const auto got = couch.post("/db/_bulk_get", wanted, {{"Accept", "multipart/mixed"}});
  REQUIRE(got.status == 200);
  const auto type = got.header("Content-Type").value();
  const std::string begin = "multipart/mixed; boundary=\"";
  REQUIRE(type.starts_with(begin));
  const auto boundary = type.substr(begin.size(), type.size() - begin.size() - 1);
  const std::string part = "\r\n--" + boundary + "\r\nContent-Type: application/json";
  CHECK(got.body == part + "\r\n\r\n" + R"({"_id":"a","_rev":")" + rev + R"(","x":1})" +                  //
                        part + "; error=\"true\"\r\n\r\n" +                                               //
                        R"({"id":"b","rev":"undefined","error":"not_found","reason":"missing"})" +        //
                        part + "; error=\"true\"\r\n\r\n" +                                               //
                        R"({"id":"a","rev":"zz","error":"bad_request","reason":"Invalid rev format"})" +  //
                        "\r\n--" + boundary + "--\r\n");

  const auto related = couch.post("/db/_bulk_get", wanted, {{"Accept", "multipart/related"}});
  CHECK(related.header("Content-Type")->starts_with("multipart/related; boundary="));
  CHECK(couch.post("/db/_bulk_get", R"({"docs":[]})", {{"Accept", "multipart/mixed"}}).body.empty());
  for (const auto* accept : {"multipart/mixed, application/json", "*/*", "text/html"}) {
    const auto json = couch.post("/db/_bulk_get", wanted, {{"Accept", accept}});
    CHECK_FALSE(json.header("Content-Type").has_value());
    CHECK(json.json().at("results").as_array().size() == 3);
  }
}

TEST_CASE("_bulk_get shows histories when asked") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto got = couch.post("/db/_bulk_get?revs=true", R"({"docs":[{"id":"a"}]})");
  CHECK(got.json().at("results").as_array()[0].at("docs").as_array()[0].at("ok").as_object().contains("_revisions"));
}

TEST_CASE("_revs_diff names unknown revisions and the leaves that may lead to them") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  const auto diff = couch.post("/db/_revs_diff", R"({"a":[")" + rev + R"(","2-x"],"b":["1-y"]})");
  CHECK(diff.json().at("a").at("missing") == boost::json::array{"2-x"});
  CHECK(diff.json().at("a").at("possible_ancestors").as_array()[0] == boost::json::value(rev));
  CHECK(diff.json().at("b").at("missing") == boost::json::array{"1-y"});
}

TEST_CASE("_revs_diff of many revisions of one document names those that are missing, in their order") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_revisions":{"start":3,"ids":["c","b","a"]}})");
  std::string asked;
  boost::json::array missing;
  for (int i = 0; i < 50; ++i) {
    asked += "\"2-x" + std::to_string(i) + "\",";
    missing.emplace_back("2-x" + std::to_string(i));
  }
  const auto diff = couch.post("/db/_revs_diff", R"({"a":["1-a","2-b",)" + asked + R"("3-c"]})");
  CHECK(diff.json().at("a").at("missing") == missing);
}

TEST_CASE("_revs_diff and _missing_revs refuse too many revisions, of one document or of many") {
  octavo::config::Settings settings;
  settings.documents_per_bulk_max = 3;
  CouchApiFixture couch(settings);
  couch.put("/db");
  for (const std::string target : {"/db/_revs_diff", "/db/_missing_revs"}) {
    CHECK(couch.post(target, R"({"a":["1-a","1-b","1-c"]})").status == 200);
    for (const char* asked : {R"({"a":["1-a","1-b"],"b":["1-c","1-d"]})", R"({"a":[],"b":[],"c":[],"d":[]})"}) {
      const auto refused = couch.post(target, asked);
      CHECK(refused.status == 413);
      CHECK(refused.json() ==
            boost::json::value({{"error", "too_large"},
                                {"reason", "The request names more than 3 revisions; send fewer at a time."}}));
    }
  }
}

TEST_CASE("a large _revs_diff is answered like a small one") {
  CouchApiFixture couch;
  couch.put("/db");
  std::string asked;
  for (int i = 0; i < 20'000; ++i) asked += ",\"1-" + std::to_string(i) + "\"";
  const auto diff = couch.post("/db/_revs_diff", R"({"a":["1-a")" + asked + "]}");
  REQUIRE(diff.status == 200);
  CHECK(diff.json().at("a").at("missing").as_array().size() == 20'001);
}

TEST_CASE("_missing_revs leaves out what is known") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  const auto reply = couch.post("/db/_missing_revs", R"({"a":[")" + rev + R"("],"b":["1-y"]})");
  CHECK(reply.body == R"({"missing_revs":{"b":["1-y"]}})"
                      "\n");
}

TEST_CASE("_purged_infos shows what was purged, up to the limit") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.get("/db/_purged_infos").body == "{\"purged_infos\":[]}\n");
  for (const std::string id : {"a", "b", "c"}) couch.put("/db/" + id + "?new_edits=false", R"({"_rev":"1-a"})");
  couch.put("/db/_purged_infos_limit", "2");
  couch.post("/db/_purge", R"({"a":["1-a"],"b":["1-a","1-x"],"none":["1-a"]})");
  CHECK(couch.get("/db/_purged_infos").body ==
        R"({"purged_infos":[{"id":"a","revs":["1-a"]},{"id":"b","revs":["1-a"]}]})"
        "\n");
  couch.post("/db/_purge", R"({"c":["1-a"]})");
  CHECK(couch.get("/db/_purged_infos").body ==
        R"({"purged_infos":[{"id":"b","revs":["1-a"]},{"id":"c","revs":["1-a"]}]})"
        "\n");
  couch.del("/db");
  couch.put("/db");
  CHECK(couch.get("/db/_purged_infos").body == "{\"purged_infos\":[]}\n");
}

TEST_CASE("_purge removes a document without a trace") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = text(couch.put("/db/a", "{}").json(), "rev");
  const auto purge = couch.post("/db/_purge", R"({"a":[")" + rev + R"("]})");
  CHECK(purge.status == 201);
  CHECK(purge.body == R"({"purge_seq":null,"purged":{"a":[")" + rev +
                          R"("]}})"
                          "\n");
  CHECK(text(couch.get("/db/a").json(), "reason") == "missing");
}
