// Requests no honest client sends: every one gets an answer below 500, and the server stays well.
#include <random>

#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;

namespace {

const std::vector<std::string> path_segments{"db",
                                             "_all_docs",
                                             "_changes",
                                             "_bulk_docs",
                                             "_bulk_get",
                                             "_design",
                                             "_local",
                                             "_partition",
                                             "p",
                                             "_batch",
                                             "_revs_diff",
                                             "_purge",
                                             "_shards",
                                             "_design_docs",
                                             "_local_docs",
                                             "queries",
                                             "_revs_limit",
                                             "x%2Fy",
                                             "%ff%fe",
                                             "_",
                                             "a:b",
                                             ":",
                                             "%00",
                                             "_security",
                                             "_compact",
                                             "_missing_revs",
                                             "_ensure_full_commit",
                                             "_sync_shards",
                                             "..",
                                             "%20"};
const std::vector<std::string> query_strings{"",
                                             "rev=1-a",
                                             "open_revs=all",
                                             "open_revs=[\"1-a\"]",
                                             "keys=[1,null,\"a\"]",
                                             "limit=0",
                                             "skip=9999",
                                             "startkey=[]",
                                             "endkey={}",
                                             "since=99-x",
                                             "filter=_doc_ids",
                                             "doc_ids=[]",
                                             "revs=true",
                                             "meta=true",
                                             "style=all_docs",
                                             "descending=true",
                                             "new_edits=false",
                                             "batch=ok",
                                             "key=\"\"",
                                             "attachments=true",
                                             "limit=18446744073709551616",
                                             "startkey=\"%ff\"",
                                             "conflicts=true"};
const std::vector<std::string> request_bodies{"",
                                              "{}",
                                              "[]",
                                              "null",
                                              "{\"docs\":[]}",
                                              "{\"docs\":[{\"_id\":\"p:1\",\"_rev\":\"0-0\"}]}",
                                              "{\"docs\":[{\"_id\":null}]}",
                                              "{\"docs\":[{\"id\":\"a\",\"rev\":7}]}",
                                              "{\"keys\":[{},[],\"a\"]}",
                                              "{\"queries\":[{\"keys\":[\"a\"]},{\"limit\":1}]}",
                                              "{\"a\":[\"1-a\"],\"\":[]}",
                                              "{\"_deleted\":true}",
                                              "7",
                                              "{\"_revisions\":{\"start\":18446744073709551615,\"ids\":[\"a\"]}}",
                                              "{\"_revisions\":{\"start\":0,\"ids\":[]}}",
                                              "{\"_id\":\"\xff\"}",
                                              "{\"selector\":{\"$or\":[]}}",
                                              "{\"_attachments\":{\"a\":1}}",
                                              "{\"_rev\":\"1-\xc3\xa9\"}"};

template <class T>
const T& pick(std::mt19937& random, const std::vector<T>& from) {
  return from[random() % from.size()];
}

}  // namespace

TEST_CASE("random requests are answered below 500 and leave the database readable") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db?partitioned=true&q=2").status == 201);
  REQUIRE(couch.put("/db/p:kept", R"({"n":1})").status == 201);
  const std::vector<std::string> methods{"GET", "PUT", "POST", "DELETE", "HEAD", "COPY", "OPTIONS", "PATCH"};
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    const auto& method = pick(random, methods);
    std::string target = "/db";
    for (auto depth = random() % 4; depth > 0; --depth) target += "/" + pick(random, path_segments);
    if (target == "/db" && method == "DELETE") continue;
    target += "?" + pick(random, query_strings) + "&" + pick(random, query_strings);
    const auto& body = pick(random, request_bodies);
    octavo::tests::Headers headers;
    if (random() % 4 != 0) headers["Content-Type"] = "application/json";
    if (random() % 8 == 0) headers["If-Match"] = "\"1-a\"";
    if (random() % 8 == 0) headers["Destination"] = "p:copy?rev=1-a";
    const auto reply = couch.send(method, target, body, headers);
    INFO(method << " " << target << " " << body << " -> " << reply.status << " " << reply.body);
    REQUIRE((reply.status < 500 || reply.status == 501));
    REQUIRE_FALSE(reply.broken);
  }
  CHECK(couch.get("/db/p:kept").status == 200);
  CHECK(couch.get("/db/_all_docs").status == 200);
}
