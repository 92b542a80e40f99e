#include <catch2/catch.hpp>

#include "support/engine_fixture.h"
#include "support/revisions.h"
#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;
using octavo::tests::text;

namespace {

std::string rev_of(const octavo::tests::Received& received) {
  return text(received.json(), "rev");
}

/// The document `a` of `db`, whose revisions 1-a0 to 1-a9 come in pieces.
void put_ten_large_leaves(CouchApiFixture& couch) {
  couch.put("/db");
  for (int i = 0; i < 10; ++i) {
    const std::string revision = "1-a" + std::to_string(i);
    couch.put("/db/a?new_edits=false", R"({"_rev":")" + revision + R"(","v":")" + std::string(50'000, 'x') + "\"}");
  }
}

}  // namespace

TEST_CASE("a document that was put is read back with its id and revision before its fields") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/a", R"({ "n": 1.0, "s": "x" })");
  REQUIRE(put.status == 201);
  const auto rev = rev_of(put);
  CHECK(put.header("ETag") == "\"" + rev + "\"");
  CHECK(put.header("Location") == "http://localhost/db/a");

  const auto got = couch.get("/db/a");

  CHECK(got.status == 200);
  CHECK(got.body == R"({"_id":"a","_rev":")" + rev + R"(","n":1.0,"s":"x"})" + "\n");
  CHECK(got.header("ETag") == "\"" + rev + "\"");
  CHECK(got.header("Cache-Control") == "must-revalidate");
}

TEST_CASE("a document that never was is missing") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto got = couch.get("/db/nothing");
  CHECK(got.status == 404);
  CHECK(got.body == "{\"error\":\"not_found\",\"reason\":\"missing\"}\n");
}

TEST_CASE("a deleted document says so") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = rev_of(couch.put("/db/a", "{}"));
  CHECK(couch.del("/db/a?rev=" + rev).status == 200);
  const auto got = couch.get("/db/a");
  CHECK(got.status == 404);
  CHECK(text(got.json(), "reason") == "deleted");
}

TEST_CASE("a document of a database that does not exist") {
  CouchApiFixture couch;
  const auto got = couch.get("/nowhere/a");
  CHECK(got.status == 404);
  CHECK(text(got.json(), "reason") == "Database does not exist.");
}

TEST_CASE("an edit without the current revision is a conflict") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto put = couch.put("/db/a", R"({"x":1})");
  CHECK(put.status == 409);
  CHECK(put.body == "{\"error\":\"conflict\",\"reason\":\"Document update conflict.\"}\n");
}

TEST_CASE("the revision of an edit may come in the body, the query or If-Match") {
  CouchApiFixture couch;
  couch.put("/db");
  auto rev = rev_of(couch.put("/db/a", "{}"));
  const auto in_body = couch.put("/db/a", R"({"_rev":")" + rev + "\"}");
  REQUIRE(in_body.status == 201);
  const auto in_query = couch.put("/db/a?rev=" + rev_of(in_body), "{}");
  REQUIRE(in_query.status == 201);
  const auto in_header = couch.put("/db/a", "{}", {{"If-Match", "\"" + rev_of(in_query) + "\""}});
  CHECK(in_header.status == 201);
  CHECK(rev_of(in_header).starts_with("4-"));
}

TEST_CASE("revisions that disagree are refused") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/a?rev=1-a", R"({"_rev":"1-b"})");
  CHECK(put.status == 400);
  CHECK(text(put.json(), "reason") == "Document rev from request body and query string have different values");
}

TEST_CASE("If-None-Match with the current revision is answered 304 without a body") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = rev_of(couch.put("/db/a", "{}"));
  const auto got = couch.get("/db/a", {{"If-None-Match", "\"" + rev + "\""}});
  CHECK(got.status == 304);
  CHECK(got.body.empty());
  CHECK(got.header("ETag") == "\"" + rev + "\"");
}

TEST_CASE("a document can be written again after its deletion without a revision") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto rev = rev_of(couch.put("/db/a", "{}"));
  couch.del("/db/a?rev=" + rev);
  const auto again = couch.put("/db/a", R"({"again":true})");
  CHECK(again.status == 201);
  CHECK(rev_of(again).starts_with("3-"));
}

TEST_CASE("deleting without a revision is a conflict, deleting what is not there is not found") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  CHECK(couch.del("/db/a").status == 409);
  CHECK(couch.del("/db/b").status == 404);
}

TEST_CASE("an unknown path that starts with an underscore is no endpoint") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto got = couch.get("/db/_foo");
  CHECK(got.status == 404);
  CHECK(text(got.json(), "error") == "not_found");
  CHECK(text(got.json(), "reason") == "There is no such endpoint: /{db}/_foo");
}

TEST_CASE("writing to an unknown path that starts with an underscore is writing a document with a reserved id") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/_foo", "{}");
  CHECK(put.status == 400);
  CHECK(text(put.json(), "error") == "illegal_docid");
  CHECK(text(put.json(), "reason") == "Only reserved document ids may start with underscore.");
}

TEST_CASE("a partitioned database wants partition:id") {
  CouchApiFixture couch;
  couch.put("/db?partitioned=true");
  const auto put = couch.put("/db/plain", "{}");
  CHECK(put.status == 400);
  CHECK(text(put.json(), "reason") == "Doc id must be of form partition:id");
  CHECK(couch.put("/db/p:1", "{}").status == 201);
}

TEST_CASE("text that is no JSON is refused") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/a", "{nope");
  CHECK(put.status == 400);
  CHECK(text(put.json(), "error") == "bad_request");
}

TEST_CASE("POST makes an id when the document has none") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.post("/db", R"({"x":1})");
  REQUIRE(post.status == 201);
  const auto id = text(post.json(), "id");
  CHECK(id.size() == 32);
  CHECK(couch.get("/db/" + id).status == 200);
}

TEST_CASE("POST wants a JSON content type") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto post = couch.send("POST", "/db", "{}", {{"Content-Type", "text/plain"}});
  CHECK(post.status == 415);
  CHECK(text(post.json(), "error") == "bad_content_type");
}

TEST_CASE("COPY writes the source's fields under the destination's id") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", R"({"x":1})");
  const auto copy = couch.send("COPY", "/db/a", "", {{"Destination", "b%20c"}});
  CHECK(copy.status == 201);
  CHECK(text(copy.json(), "id") == "b c");
  CHECK(couch.get("/db/b%20c").json().at("x") == 1);
}

TEST_CASE("COPY over a document needs its revision") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", R"({"x":1})");
  const auto rev = rev_of(couch.put("/db/b", "{}"));
  CHECK(couch.send("COPY", "/db/a", "", {{"Destination", "b"}}).status == 409);
  CHECK(couch.send("COPY", "/db/a", "", {{"Destination", "b?rev=" + rev}}).status == 201);
}

TEST_CASE("replicated edits make conflicts, which readers can see") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":1})").status == 201);
  CHECK(couch.put("/db/a?new_edits=false", R"({"_rev":"1-bb","v":2})").status == 201);

  const auto got = couch.get("/db/a?conflicts=true");

  CHECK(text(got.json(), "_rev") == "1-bb");
  CHECK(got.json().at("_conflicts") == boost::json::array{"1-aa"});
  CHECK_FALSE(got.header("ETag").has_value());
  CHECK(couch.get("/db/a?rev=1-aa").json().at("v") == 1);
}

TEST_CASE("open_revs=all shows every leaf") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":1})");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-bb","v":2})");
  const auto got = couch.get("/db/a?open_revs=all");
  REQUIRE(got.status == 200);
  CHECK(got.json().as_array().size() == 2);
  CHECK(got.json().as_array()[0].at("ok").at("_rev") == "1-bb");
}

TEST_CASE("open_revs names what is missing") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":1})");
  const auto got = couch.get(R"(/db/a?open_revs=["1-aa","9-zz"])");
  REQUIRE(got.status == 200);
  CHECK(got.json().as_array()[1] == boost::json::value({{"missing", "9-zz"}}));
}

TEST_CASE("open_revs answers a revision that is named twice once") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":1})");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-bb","v":2})");

  const auto got = couch.get(R"(/db/a?open_revs=["1-aa","9-zz","1-bb","1-aa","9-zz"])");

  REQUIRE(got.status == 200);
  REQUIRE(got.json().as_array().size() == 3);
  CHECK(got.json().as_array()[0].at("ok").at("_rev") == "1-aa");
  CHECK(got.json().as_array()[1] == boost::json::value({{"missing", "9-zz"}}));
  CHECK(got.json().as_array()[2].at("ok").at("_rev") == "1-bb");
}

TEST_CASE("open_revs with latest answers each leaf once, where it is asked for first") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_revisions":{"start":3,"ids":["c","b","a"]},"v":1})");
  couch.put("/db/a?new_edits=false", R"({"_revisions":{"start":2,"ids":["d","a"]},"v":2})");

  const auto got = couch.get(R"(/db/a?latest=true&open_revs=["2-d","1-a","9-z","2-b","3-c"])");

  REQUIRE(got.status == 200);
  REQUIRE(got.json().as_array().size() == 3);
  CHECK(got.json().as_array()[0].at("ok").at("_rev") == "2-d");
  CHECK(got.json().as_array()[1].at("ok").at("_rev") == "3-c");
  CHECK(got.json().as_array()[2] == boost::json::value({{"missing", "9-z"}}));
}

TEST_CASE("open_revs does not take a revision for its leaf without latest") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_revisions":{"start":2,"ids":["b","a"]},"v":1})");
  const auto got = couch.get(R"(/db/a?open_revs=["1-a"])");
  CHECK(got.body == "[{\"missing\":\"1-a\"}]\n");
}

TEST_CASE("open_revs of a large document sends it once, however often it is named") {
  CouchApiFixture couch;
  couch.put("/db");
  const std::size_t bytes = 4 * 1024 * 1024;
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":")" + std::string(bytes, 'x') + "\"}");
  std::string list = "\"1-aa\"";
  for (int i = 0; i < 5'000; ++i) list += ",\"1-aa\"";

  const auto got = couch.get("/db/a?open_revs=[" + list + "]");

  REQUIRE(got.status == 200);
  CHECK(got.body.size() < bytes + 1'000);
  CHECK(got.json().as_array().size() == 1);
}

TEST_CASE("open_revs of many large leaves comes in pieces, each leaf whole") {
  CouchApiFixture couch;
  put_ten_large_leaves(couch);

  const auto got = couch.get("/db/a?open_revs=all");

  REQUIRE(got.status == 200);
  CHECK(got.streamed);
  const auto leaves = got.json().as_array();
  REQUIRE(leaves.size() == 10);
  for (const auto& leaf : leaves) CHECK(text(leaf.at("ok"), "v").size() == 50'000);
}

TEST_CASE("open_revs=all tells of leaves only, also when one becomes another meanwhile") {
  // Given leaves that come in pieces
  CouchApiFixture couch;
  put_ten_large_leaves(couch);
  // When one that was not sent yet is edited
  couch.after_first_piece = [&] {
    const auto database = couch.engine().find_database("db");
    octavo::tests::EngineFixture::put(*database, "a", R"({"v":"edited"})", octavo::tests::rev(1, "a0"));
  };
  const auto got = couch.get("/db/a?open_revs=all");
  // Then its edit comes instead, and nothing is missing
  const auto leaves = got.json().as_array();
  REQUIRE(leaves.size() == 10);
  std::size_t edited = 0;
  for (const auto& leaf : leaves) {
    REQUIRE(leaf.as_object().contains("ok"));
    CHECK(text(leaf.at("ok"), "_rev") != "1-a0");
    if (text(leaf.at("ok"), "v") == "edited") ++edited;
  }
  CHECK(edited == 1);
}

TEST_CASE("open_revs=all of a document that never was is missing") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.get("/db/nothing?open_revs=all").status == 404);
}

TEST_CASE("open_revs tells in parts what is missing") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto got = couch.get(R"(/db/a?open_revs=["9-zz"])", {{"Accept", "multipart/mixed"}});
  CHECK(got.body.find("Content-Type: application/json; error=\"true\"\r\n\r\n{\"missing\":\"9-zz\"}\r\n--") !=
        std::string::npos);
  CHECK(got.body.ends_with("--"));
}

TEST_CASE("a large revision is read by its name") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-aa","v":")" + std::string(300'000, 'x') + "\"}");
  couch.put("/db/a?new_edits=false", R"({"_rev":"1-bb","v":2})");
  const auto got = couch.get("/db/a?rev=1-aa");
  REQUIRE(got.status == 200);
  CHECK(text(got.json(), "v").size() == 300'000);
}

TEST_CASE("open_revs answers in parts when the client asks for them by name") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto got = couch.get("/db/a?open_revs=all", {{"Accept", "multipart/mixed"}});
  CHECK(got.header("Content-Type")->starts_with("multipart/mixed; boundary="));
  CHECK(got.body.find("Content-Type: application/json\r\n\r\n{\"_id\":\"a\"") != std::string::npos);
}

TEST_CASE("revs shows the history and keeps the entity tag") {
  CouchApiFixture couch;
  couch.put("/db");
  auto rev = rev_of(couch.put("/db/a", "{}"));
  rev = rev_of(couch.put("/db/a?rev=" + rev, "{}"));
  const auto got = couch.get("/db/a?revs=true");
  CHECK(got.json().at("_revisions").at("start") == 2);
  CHECK(got.json().at("_revisions").at("ids").as_array().size() == 2);
  CHECK(got.header("ETag").has_value());
}

TEST_CASE("revs_info tells that the bodies of older revisions are gone") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a?new_edits=false", R"({"_revisions":{"start":3,"ids":["c","b","a"]}})");
  const auto info = couch.get("/db/a?revs_info=true").json().at("_revs_info").as_array();
  REQUIRE(info.size() == 3);
  CHECK(info[0] == boost::json::value({{"rev", "3-c"}, {"status", "available"}}));
  CHECK(info[1] == boost::json::value({{"rev", "2-b"}, {"status", "missing"}}));
  CHECK(info[2] == boost::json::value({{"rev", "1-a"}, {"status", "missing"}}));
}

TEST_CASE("meta shows revs_info") {
  CouchApiFixture couch;
  couch.put("/db");
  couch.put("/db/a", "{}");
  const auto got = couch.get("/db/a?meta=true&local_seq=true");
  CHECK(got.json().at("_revs_info").as_array()[0].at("status") == "available");
  CHECK(got.json().at("_local_seq") == 1);
}

TEST_CASE("local documents have revisions of their own and no feed row") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/_local/checkpoint", R"({"seq":5})");
  CHECK(put.status == 201);
  CHECK(text(put.json(), "rev") == "0-1");
  CHECK(couch.get("/db/_local/checkpoint").body == R"({"_id":"_local/checkpoint","_rev":"0-1","seq":5})"
                                                   "\n");
  CHECK(couch.get("/db/_changes").json().at("results").as_array().empty());
  CHECK(couch.del("/db/_local/checkpoint?rev=0-1").status == 200);
  CHECK(couch.get("/db/_local/checkpoint").status == 404);
}

TEST_CASE("a local document's revision has a limit, and never wraps around") {
  CouchApiFixture couch;
  couch.put("/db");
  for (const std::string number : {"18446744073709551615", "18446744073709551614", "9223372036854775807", "-1", "x"}) {
    const auto put = couch.put("/db/_local/x", R"({"_rev":"0-)" + number + R"("})");
    CHECK(put.status == 400);
    CHECK(put.body == "{\"error\":\"bad_request\",\"reason\":\"Invalid rev format\"}\n");
  }
  CHECK(couch.get("/db/_local/x").status == 404);
  const auto highest = couch.put("/db/_local/x", R"({"_rev":"0-9223372036854775806"})");
  CHECK(highest.status == 201);
  CHECK(text(highest.json(), "rev") == "0-9223372036854775807");
}

TEST_CASE("attachments are not supported yet, so no document has one") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(text(couch.get("/db/a/b.txt").json(), "reason") == "missing");
  couch.put("/db/a", "{}");
  CHECK(text(couch.get("/db/a/b.txt").json(), "reason") == "Document is missing attachment");
  const auto put = couch.put("/db/a/b.txt", "x");
  CHECK(put.status == 501);
  CHECK(text(put.json(), "error") == "not_implemented");
}

TEST_CASE("a design document is reached by its two segments or with an encoded slash") {
  CouchApiFixture couch;
  couch.put("/db");
  CHECK(couch.put("/db/_design/x", R"({"language":"query"})").status == 201);
  CHECK(couch.get("/db/_design/x").status == 200);
  CHECK(couch.get("/db/_design%2Fx").status == 200);
}

TEST_CASE("a method that a path does not know is answered with those it does") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto reply = couch.send("DELETE", "/db/_all_docs", "");
  CHECK(reply.status == 405);
  CHECK(reply.header("Allow") == "GET,HEAD,POST");
  CHECK(reply.body == "{\"error\":\"method_not_allowed\",\"reason\":\"Only GET,HEAD,POST allowed\"}\n");
}

TEST_CASE("batch=ok is acknowledged before it is written") {
  CouchApiFixture couch;
  couch.put("/db");
  const auto put = couch.put("/db/a?batch=ok", "{}");
  CHECK(put.status == 202);
  CHECK(put.body == "{\"ok\":true,\"id\":\"a\"}\n");
}

TEST_CASE("a document with attachments is refused with 501, and with the 403 by which a replicator leaves it out") {
  CouchApiFixture couch;
  couch.put("/db");
  const std::string replica = R"({"_rev":"1-a","_attachments":{"a.txt":{"content_type":"text/plain","data":"eA=="}}})";
  const std::string parts =
      "--b\r\nContent-Type: application/json\r\n\r\n"
      R"({"_rev":"1-a","_attachments":{"a.txt":{"follows":true,"length":1,"content_type":"text/plain"}}})"
      "\r\n--b\r\nContent-Disposition: attachment; filename=\"a.txt\"\r\n\r\nx\r\n--b--";
  const octavo::tests::Headers as_parts{{"Content-Type", "multipart/related; boundary=\"b\""}};

  CHECK(couch.put("/db/a", R"({"_attachments":{"a.txt":{"data":"eA=="}}})").status == 501);
  CHECK(couch.put("/db/a", parts, as_parts).status == 501);
  CHECK(couch.put("/db/a?new_edits=false", replica).status == 403);
  CHECK(couch.put("/db/a?new_edits=false", parts, as_parts).status == 403);
  CHECK(couch.get("/db/a").status == 404);
}
