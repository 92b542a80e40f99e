// Functions that run while documents are written, followed and updated.
#include <array>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "query/javascript/functions.h"
#include "unit/query/javascript/programs.h"

using namespace octavo;
using namespace octavo::query::javascript;

namespace {

constexpr std::string_view user_json = R"({"db":"shop","name":"ann","roles":["editor"]})";
constexpr std::string_view document_json = R"({"_id":"a","n":1})";

Expected<void> validated_by(std::string_view source, std::optional<std::string_view> old = std::nullopt) {
  return validate(program_of(source), 0, document_json, old, user_json, R"({"admins":{"names":["bob"]}})");
}

Error refusal_of(std::string_view source) {
  const auto valid = validated_by(source);
  REQUIRE_FALSE(valid);
  return valid.error();
}

std::vector<bool> filtered_by(std::string_view source, std::string_view request = "{}") {
  constexpr std::array<std::string_view, 3> three_documents{R"({"_id":"a","n":1})", R"({"_id":"b","n":2})",
                                                            R"({"_id":"c"})"};
  const auto passed = filter(program_of(source), 0, three_documents, request);
  REQUIRE(passed);
  return *passed;
}

}  // namespace

TEST_CASE("a validation sees the new document, the old one, the user and the security object") {
  CHECK(validated_by("function() {}"));
  CHECK(refusal_of("function(newDoc, oldDoc, userCtx, secObj) { throw {forbidden: [newDoc._id, oldDoc, userCtx.name, "
                   "userCtx.roles[0], userCtx.db, secObj.admins.names[0]].join()}; }")
            .reason == "a,,ann,editor,shop,bob");
  CHECK(validated_by("function(n, o) { if (o.n !== 7 || n.n !== 1) throw {forbidden: 'no'}; }", R"({"n":7})"));
}

TEST_CASE("what a validation throws decides the answer") {
  CHECK(refusal_of("function() { throw {forbidden: 'not here'}; }") == Error{ErrorCode::forbidden, "not here", {}});
  CHECK(refusal_of("function() { throw({unauthorized: 'who are you?'}); }") ==
        Error{ErrorCode::unauthorized, "who are you?", {}});
  CHECK(refusal_of("function() { throw {forbidden: {code: 7}}; }") == Error{ErrorCode::forbidden, R"({"code":7})", {}});
  CHECK(refusal_of("function() { throw {other: 1}; }") ==
        Error{ErrorCode::function_failed, R"({"other":1})", "unknown_error"});
  CHECK(refusal_of("function() { throw 'text'; }") == Error{ErrorCode::function_failed, "text", "unknown_error"});
  CHECK(refusal_of("function(d) { d.a.b; }") ==
        Error{ErrorCode::function_failed, "TypeError: d.a is undefined (line 1)", "TypeError"});
  CHECK(refusal_of("function() { var e = new Error('x'); e.forbidden = 'y'; throw e; }").word == "Error");
  CHECK(refusal_of("function(").code == ErrorCode::function_failed);
}

TEST_CASE("functions of a design document see it as this, and its modules") {
  const auto program = program_of({"function(doc) { require('lib/rule').check(doc, this.limit); }"},
                                  R"js({"_id":"_design/d","limit":0,"lib":{"rule":
      "exports.check = function(doc, limit) { if (doc.n > limit) throw {forbidden: 'over ' + limit}; };"}})js");
  const auto valid = validate(program, 0, document_json, std::nullopt, user_json, "{}");
  REQUIRE_FALSE(valid);
  CHECK(valid.error().reason == "over 0");
}

TEST_CASE("a filter answers for each document, with the request at hand") {
  CHECK(filtered_by("function(doc, req) { return doc.n == req.query.n; }", R"({"query":{"n":"2"}})") ==
        std::vector<bool>{false, true, false});
  CHECK(filtered_by("function(doc) { return doc.n ? 'yes' : 0; }") == std::vector<bool>{true, true, false});
  CHECK(filtered_by("function() {}") == std::vector<bool>{false, false, false});
}

TEST_CASE("each request of a filter is its own") {
  const auto program = program_of("function(doc, req) { return req.wanted === doc._id; }");
  constexpr std::array<std::string_view, 1> only_a{R"({"_id":"a"})"};
  CHECK(filter(program, 0, only_a, R"({"wanted":"a"})") == std::vector<bool>{true});
  CHECK(filter(program, 0, only_a, R"({"wanted":"b"})") == std::vector<bool>{false});
  CHECK(filter(program, 0, only_a, R"({"wanted":"a"})") == std::vector<bool>{true});
}

TEST_CASE("a filter that throws fails the request") {
  constexpr std::array<std::string_view, 1> one_document{"{}"};
  const auto passed = filter(program_of("function(doc) { return doc.a.b; }"), 0, one_document, "{}");
  REQUIRE_FALSE(passed);
  CHECK(passed.error().reason == "function 0: TypeError: doc.a is undefined (line 1)");
}

TEST_CASE("a map function as a filter passes what it emits for") {
  constexpr std::array<std::string_view, 3> three_documents{R"({"n":1})", "{}", R"({"n":2})"};
  CHECK(emits(program_of("function(doc) { if (doc.n) emit(doc.n, doc); }"), 0, three_documents) ==
        std::vector<bool>{true, false, true});
}

TEST_CASE("an update function makes a document and a response") {
  const auto program = program_of(
      "function(doc, req) { if (!doc) return [{_id: req.id, n: 0}, 'new']; "
      "doc.n++; return [doc, {code: 202, json: doc}]; }");
  const auto created = update(program, 0, std::nullopt, R"({"id":"x"})");
  REQUIRE(created);
  CHECK(created->document == R"({"_id":"x","n":0})");
  CHECK(created->response == R"("new")");
  const auto changed = update(program, 0, R"({"_id":"x","n":1})", "{}");
  REQUIRE(changed);
  CHECK(changed->document == R"({"_id":"x","n":2})");
  CHECK(changed->response == R"({"code":202,"json":{"_id":"x","n":2}})");
}

TEST_CASE("an update function may store nothing") {
  const auto result = update(program_of("function() { return [null, 'nothing']; }"), 0, std::nullopt, "{}");
  REQUIRE(result);
  CHECK_FALSE(result->document);
  CHECK_FALSE(update(program_of("function() { return [[1], 'x']; }"), 0, std::nullopt, "{}")->document);
}

TEST_CASE("the helpers of shows and lists have no effect in update functions") {
  const auto result =
      update(program_of("function() { registerType('x', 'a/b'); provides('x', function() {}); start({}); "
                        "send('y'); return [null, String(getRow())]; }"),
             0, std::nullopt, "{}");
  REQUIRE(result);
  CHECK(result->response == R"("null")");
}

TEST_CASE("an update function without a response fails") {
  const auto word_of = [](std::string_view source) {
    const auto result = update(program_of(source), 0, std::nullopt, "{}");
    return result ? "" : result.error().word;
  };
  CHECK(word_of("function() { return [{}]; }") == "render_error");
  CHECK(word_of("function() { return [{}, 17]; }") == "render_error");
  CHECK(word_of("function() { return [{}, []]; }") == "render_error");
  CHECK(word_of("function() {}") == "render_error");
  CHECK(word_of("function() { throw new TypeError('x'); }") == "TypeError");
}
