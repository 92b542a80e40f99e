#include <catch2/catch.hpp>

#include "api/couch/documents/save.h"
#include "config/value_text.h"

using namespace octavo;
using namespace octavo::api::couch;

namespace {

constexpr std::size_t limit_bytes = 1000;

Error error_of(std::string_view json) {
  const auto parsed = parse_document(json, limit_bytes);
  REQUIRE_FALSE(parsed.has_value());
  return parsed.error();
}

}  // namespace

TEST_CASE("the special members are taken out of a document") {
  const auto document = parse_document(
      R"({ "_id": "a:b", "n": 12345678901234567890, "_rev": "1-00000000000000000000000000000001", "x": [1, 2] })",
      limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->id == "a:b");
  CHECK(document->revision->to_string() == "1-00000000000000000000000000000001");
  CHECK_FALSE(document->deleted);
  CHECK(document->body == R"({"n":12345678901234567890,"x":[1,2]})");
}

TEST_CASE("_deleted makes a tombstone that keeps its other fields") {
  const auto document = parse_document(R"({"_deleted":true,"why":"old"})", limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->deleted);
  CHECK(document->body == R"({"why":"old"})");
}

TEST_CASE("an unknown special member is refused by name") {
  const auto error = error_of(R"({"_foo":1})");
  CHECK(error.word == "doc_validation");
  CHECK(error.reason == "Bad special document member: _foo");
}

TEST_CASE("a _deleted that is no boolean is a bad special member") {
  CHECK(error_of(R"({"_deleted":"yes"})").reason == "Bad special document member: _deleted");
}

TEST_CASE("members that replies carry are ignored in requests") {
  const auto document = parse_document(
      R"({"_revs_info":[],"_local_seq":3,"_conflicts":["x"],"_deleted_conflicts":[],"a":1})", limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->body == R"({"a":1})");
}

TEST_CASE("the replicator's members stay in the document") {
  const auto document = parse_document(R"({"_replication_state":"completed","a":1})", limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->body == R"({"a":1,"_replication_state":"completed"})");
}

TEST_CASE("the replicator's members stay in a document that has no others") {
  const auto document = parse_document(R"({"_replication_id": "x"})", limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->body == R"({"_replication_id":"x"})");
}

TEST_CASE("an id must be a string") {
  const auto error = error_of(R"({"_id":7})");
  CHECK(error.word == "illegal_docid");
  CHECK(error.reason == "Document id must be a string");
}

TEST_CASE("a revision must look like one") {
  CHECK(error_of(R"({"_rev":"abc"})").reason == "Invalid rev format");
  CHECK(error_of(R"({"_rev":null})").reason == "Invalid rev format");
}

TEST_CASE("a document must be an object") {
  CHECK(error_of("[]").reason == "Document must be a JSON object");
}

TEST_CASE("_revisions names the history, newest first") {
  const auto document = parse_document(R"({"_revisions":{"start":3,"ids":["c","b","a"]}})", limit_bytes);
  REQUIRE(document.has_value());
  REQUIRE(document->history.size() == 3);
  CHECK(document->history[0].to_string() == "3-c");
  CHECK(document->history[2].to_string() == "1-a");
  CHECK(document->revision->to_string() == "3-c");
}

TEST_CASE("_revisions with more ids than generations is refused") {
  CHECK(error_of(R"({"_revisions":{"start":1,"ids":["b","a"]}})").word == "doc_validation");
}

TEST_CASE("_revisions with ids that are no text for headers is refused") {
  for (const char* id : {R"(a\r\nSet-Cookie: b)", R"(a\u007f)", R"(a\"b)", R"(a\\b)", "a b", "é", R"(a\u0000)"}) {
    const auto error = error_of(std::string(R"({"_revisions":{"start":1,"ids":[")") + id + R"("]}})");
    CHECK(error.word == "doc_validation");
    CHECK(error.reason == "RevId isn't a valid hexadecimal");
  }
}

TEST_CASE("_revisions must have a start and ids") {
  CHECK(error_of(R"({"_revisions":{"ids":[]}})").reason == "_revisions.start isn't an integer.");
  CHECK(error_of(R"({"_revisions":{"start":1}})").reason == "_revisions.ids isn't a array.");
  CHECK(error_of(R"({"_revisions":{"start":1,"ids":[5]}})").reason == "RevId isn't a string");
}

TEST_CASE("attachments are refused, an empty set of them is not") {
  CHECK(error_of(R"({"_attachments":{"a.txt":{"data":"eA=="}}})").code == ErrorCode::unsupported);
  CHECK(parse_document(R"({"_attachments":{}})", limit_bytes).has_value());
}

TEST_CASE("a document over the limit names its id") {
  const auto error = error_of(R"({"_id":"big","a":")" + std::string(limit_bytes, 'x') + "\"}");
  CHECK(error.word == "document_too_large");
  CHECK(error.reason ==
        "big: the document " + octavo::config::over_limit(limit_bytes + 8, limit_bytes, "database.document_bytes_max"));
}

TEST_CASE("the revision of a local document is its edit number") {
  const auto document = parse_document(R"({"_id":"_local/x","_rev":"0-7"})", limit_bytes);
  REQUIRE(document.has_value());
  CHECK(document->local_edit == 7U);
}

TEST_CASE("a replicated edit needs a revision") {
  const auto write = make_write("a", *parse_document("{}", limit_bytes), false);
  REQUIRE_FALSE(write.has_value());
  CHECK(write.error().reason == "When `new_edits: false`, the document needs `_rev` or `_revisions` specified");
}

TEST_CASE("a replicated edit with a revision alone has a history of one") {
  const auto write = make_write("a", *parse_document(R"({"_rev":"2-x"})", limit_bytes), false);
  REQUIRE(write.has_value());
  CHECK(write->replicated);
  REQUIRE(write->history.size() == 1);
  CHECK(write->history[0].to_string() == "2-x");
}
