// Values at and beyond the limits of what can be stored, through the whole API.
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "unit/api/couch/couch_api_fixture.h"

using octavo::tests::CouchApiFixture;

namespace {

constexpr int nesting_max = 512;

std::string nested(int depth, char open, char close, const std::string& inside) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open == '{' ? R"({"a":)" : "[";
  text += inside;
  text.append(static_cast<std::size_t>(depth), close);
  return text;
}

/// The stored body of a document: the reply without `_id` and `_rev`.
std::string body_of(CouchApiFixture& couch, const std::string& target) {
  std::string text = couch.get(target).body;
  const std::size_t revision = text.find("\"_rev\":\"");
  const std::size_t end = text.find('"', revision + 8) + 1;
  REQUIRE(revision != std::string::npos);
  std::string body = text.substr(end + (text[end] == ',' ? 1 : 0));
  while (body.ends_with('\n')) body.pop_back();
  return "{" + body;
}

}  // namespace

TEST_CASE("nesting is taken to its limit in every place a document can stand, and no deeper") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  for (const auto& [open, close] : {std::pair{'[', ']'}, std::pair{'{', '}'}}) {
    const std::string deep = R"({"d":)" + nested(nesting_max - 1, open, close, "1") + "}";
    const std::string deeper = R"({"d":)" + nested(nesting_max, open, close, "1") + "}";
    const std::string id = open == '[' ? "array" : "object";
    CHECK(couch.put("/db/" + id, deep).status == 201);
    CHECK(body_of(couch, "/db/" + id) == deep);
    CHECK(couch.put("/db/" + id + "2", deeper).status == 400);
    CHECK(couch.put("/db/_local/" + id, deep).status == 201);
    CHECK(couch.put("/db/_local/" + id + "2", deeper).status == 400);
    CHECK(couch.post("/db", deeper).status == 400);
    const auto bulk = couch.post("/db/_bulk_docs", R"({"docs":[)" + deeper + "]}");
    CHECK((bulk.status == 400 || bulk.body.find("\"ok\"") == std::string::npos));
  }
  for (const char* target : {"/db/_bulk_docs", "/db/_bulk_get", "/db/_all_docs", "/db/_revs_diff", "/db/_purge"}) {
    const auto reply = couch.post(target, nested(100'000, '[', ']', ""));
    INFO(target << " " << reply.body);
    CHECK(reply.status == 400);
  }
}

TEST_CASE("numbers of any size keep their text") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  const std::vector<std::string> numbers{"1e400",
                                         "-1e400",
                                         "1e-400",
                                         "-0",
                                         "-0.0",
                                         "0e999999",
                                         "1E+9999",
                                         "9007199254740993",
                                         "18446744073709551616",
                                         "-9223372036854775809",
                                         std::string(5000, '7'),
                                         "0." + std::string(5000, '3'),
                                         "1.0000000000000000000000000000000000000001"};
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::string body = R"({"n":)" + numbers[i] + "}";
    INFO(numbers[i]);
    REQUIRE(couch.put("/db/n" + std::to_string(i), body).status == 201);
    CHECK(body_of(couch, "/db/n" + std::to_string(i)) == body);
  }
  for (const char* bad : {"01", "+1", "1.", ".5", "1e", "0x10", "NaN", "Infinity", "-", "1e+"}) {
    INFO(bad);
    CHECK(couch.put("/db/bad", R"({"n":)" + std::string(bad) + "}").status == 400);
  }
  CHECK(couch.get("/db/_all_docs?include_docs=true").status == 200);
}

TEST_CASE("generations beyond what can be counted on are refused") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  const std::string largest = "18446744073709551615-0123456789abcdef0123456789abcdef";
  CHECK(couch.put("/db/a?new_edits=false", R"({"_rev":")" + largest + R"("})").status == 400);
  CHECK(couch
            .put("/db/a?new_edits=false",
                 R"({"_revisions":{"start":18446744073709551615,"ids":["0123456789abcdef0123456789abcdef"]}})")
            .status == 400);
  CHECK(couch.put("/db/a?rev=" + largest, "{}").status == 400);
  CHECK(couch.get("/db/a").status == 404);
}

TEST_CASE("of a field that stands twice the last stays, at every level") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  REQUIRE(couch.put("/db/a", R"({"a":1,"b":{"c":1,"\u0063":2},"a":3,"_id":"x","_id":"a"})").status == 201);
  CHECK(body_of(couch, "/db/a") == R"({"b":{"\u0063":2},"a":3})");
  CHECK(couch.post("/db", R"({"_id":"x","_id":"b"})").status == 201);
  CHECK(couch.get("/db/b").status == 200);
  CHECK(couch.get("/db/x").status == 404);
}

TEST_CASE("text that is not UTF-8 is refused wherever it stands, also in ids") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  for (const std::string bytes : {"\xff", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\x80"}) {
    CHECK(couch.put("/db/a", R"({"t":")" + bytes + R"("})").status == 400);
    CHECK(couch.put("/db/a", R"({")" + bytes + R"(":1})").status == 400);
    CHECK(couch.post("/db", R"({"_id":")" + bytes + R"("})").status == 400);
    CHECK(couch.post("/db/_all_docs", R"({"keys":[")" + bytes + R"("]})").status == 400);
    std::string escaped;
    for (const unsigned char c : bytes) {
      constexpr char digits[] = "0123456789abcdef";
      escaped += {'%', digits[c >> 4], digits[c & 15]};
    }
    const auto written = couch.put("/db/" + escaped, "{}");
    INFO(written.body);
    CHECK(written.status == 400);
    CHECK(couch.put("/db/_local/" + escaped, "{}").status == 400);
    CHECK(couch.put("/db/_design/" + escaped, "{}").status == 400);
  }
  for (const std::string escape : {R"(\ud800)", R"(\udc00)", R"(\ud800\u0041)", R"(\udc00\ud800)", R"(\ud800\ud800)"}) {
    CHECK(couch.put("/db/a", R"({"t":")" + escape + R"("})").status == 400);
    CHECK(couch.put("/db/a", R"({")" + escape + R"(":1})").status == 400);
  }
  CHECK(couch.get("/db/_all_docs").json().at("rows").as_array().empty());
}

TEST_CASE("the null character is a character like others") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  const std::string body = R"({"t":"a\u0000b","\u0000":1})";
  REQUIRE(couch.put("/db/n%00ul", body).status == 201);
  CHECK(body_of(couch, "/db/n%00ul") == body);
  CHECK(couch.get("/db/n").status == 404);
  CHECK(couch.get(R"(/db/_all_docs?key="n\u0000ul")").json().at("rows").as_array().size() == 1);
  CHECK(couch.put("/db/bad", std::string("{\"t\":\"a\0b\"}", 11)).status == 400);
}

TEST_CASE("a hundred thousand fields are stored, replaced and returned") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db").status == 201);
  std::string body = "{";
  for (int i = 0; i < 100'000; ++i) body += "\"field" + std::to_string(i) + "\":" + std::to_string(i) + ",";
  const std::string once = body.substr(0, body.size() - 1) + "}";
  const auto written = couch.put("/db/wide", once);
  REQUIRE(written.status == 201);
  CHECK(body_of(couch, "/db/wide") == once);
  // Every field twice: half of the text goes.
  const std::string twice = body + once.substr(1);
  const std::string rev(written.json().at("rev").as_string());
  REQUIRE(couch.put("/db/wide?rev=" + rev, twice).status == 201);
  CHECK(body_of(couch, "/db/wide") == once);
  std::string keys = R"({"keys":["wide")";
  for (int i = 0; i < 100'000; ++i) keys += ",\"k\"";
  CHECK(couch.post("/db/_all_docs", keys + "]}").status == 200);
}

TEST_CASE("ids of seven kilobytes live as others do") {
  CouchApiFixture couch;
  REQUIRE(couch.put("/db?partitioned=true&q=2").status == 201);
  const std::string stem = "p:" + std::string(7165, 'k');
  std::string revision;
  for (const char last : {'c', 'a', 'b'}) {
    const auto written = couch.put("/db/" + stem + last, R"({"v":1})");
    REQUIRE(written.status == 201);
    revision = written.json().at("rev").as_string();
  }
  CHECK(couch.put("/db/" + stem + "ab", "{}").status == 400);
  const auto listed = couch.get("/db/_partition/p/_all_docs").json().at("rows").as_array();
  REQUIRE(listed.size() == 3);
  CHECK(listed[0].at("id").as_string() == stem + "a");
  CHECK(listed[2].at("id").as_string() == stem + "c");
  REQUIRE(couch.put("/db/" + stem + "b?rev=" + revision, R"({"v":2})").status == 201);
  REQUIRE(couch.put("/db/" + stem + "b?new_edits=false", R"({"_rev":"2-x","v":3})").status == 201);
  CHECK(couch.get("/db/" + stem + "b?conflicts=true").json().as_object().contains("_conflicts"));
  CHECK(couch.del("/db/" + stem + "b?rev=2-x").status == 200);
  CHECK(couch.get("/db/_changes").json().at("results").as_array().size() == 3);
  CHECK(couch.put("/db/_local/" + std::string(7000, 'l'), "{}").status == 201);
  CHECK(couch.get("/db/_local/" + std::string(7000, 'l')).status == 200);
  const std::string wide_partition(7100, 'q');
  REQUIRE(couch.put("/db/" + wide_partition + ":1", "{}").status == 201);
  CHECK(couch.get("/db/_partition/" + wide_partition).json().at("doc_count").as_int64() == 1);
}
