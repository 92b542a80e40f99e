#include "query/advice/key_candidate.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/json/parsed_document.h"

using namespace octavo::query::advice;
using octavo::query::DocumentParser;
using octavo::query::FieldPath;

namespace {

KeyCandidate candidate_of(KeyCandidate::Kind kind, std::initializer_list<std::string_view> paths,
                          std::string separator = {}) {
  KeyCandidate candidate{kind, {}, std::move(separator)};
  for (const auto path : paths) candidate.paths.push_back(*AdvisedPath::parse(path));
  return candidate;
}

/// The key of a document, and whether it lacks a value.
std::pair<std::string, bool> key_in(const KeyCandidate& candidate, std::string_view json) {
  DocumentParser parser;
  KeyReader reader(candidate);
  reader.read({*parser.parse(json), "the id", 1'500'000'000, json.size()});
  return {reader.text(), reader.is_missing()};
}

std::optional<std::uint32_t> time_in(std::string_view json) {
  DocumentParser parser;
  return AdvisedPath::parse("/at")->read_time({*parser.parse(json), "id", 0, json.size()});
}

}  // namespace

TEST_CASE("the key of a document is shown as JSON") {
  const auto single = candidate_of(KeyCandidate::Kind::single, {"/a"});
  CHECK(key_in(single, R"({"a":"x\"y"})") == std::pair(std::string(R"("x\"y")"), false));
  CHECK(key_in(single, R"({"a":1.0})").first == "1");
  CHECK(key_in(single, R"({"a":1})").first == "1");
  CHECK(key_in(single, R"({"a":-0.0})").first == "0");
  CHECK(key_in(single, R"({"a":null})") == std::pair(std::string("null"), false));
  CHECK(key_in(single, R"({"a":false})").first == "false");
  CHECK(key_in(single, R"({"b":1})") == std::pair(std::string("{}"), true));
  CHECK(key_in(single, R"({"a":[1]})") == std::pair(std::string("{}"), true));
}

TEST_CASE("a hierarchical key lists its values, a composite one joins them") {
  const std::string json = R"({"car":{"id":"c1"},"month":"2020-05","n":7})";
  const auto hierarchy = candidate_of(KeyCandidate::Kind::hierarchical, {"/car/id", "/month"});
  CHECK(key_in(hierarchy, json).first == R"(["c1","2020-05"])");
  CHECK(key_in(hierarchy, R"({"month":"2020-05"})") == std::pair(std::string(R"([{},"2020-05"])"), true));
  const auto composite = candidate_of(KeyCandidate::Kind::composite, {"/car/id", "/n"}, "-");
  CHECK(key_in(composite, json) == std::pair(std::string(R"("c1-7")"), false));
  CHECK(key_in(composite, R"({"n":7})") == std::pair(std::string("{}"), true));
}

TEST_CASE("a document's id and the time of its last write have paths, too") {
  CHECK(key_in(candidate_of(KeyCandidate::Kind::single, {"/_id"}), "{}").first == R"("the id")");
  CHECK(key_in(candidate_of(KeyCandidate::Kind::single, {"/_ts"}), "{}").first == "1500000000");
}

TEST_CASE("a time is a number of seconds or milliseconds, or a text") {
  CHECK(time_in(R"({"at":1500000000})") == 1'500'000'000U);
  CHECK(time_in(R"({"at":1500000000123})") == 1'500'000'000U);
  CHECK(time_in(R"({"at":"2017-07-14T02:40:00Z"})") == 1'500'000'000U);
  CHECK(time_in(R"({"at":"2017-07-14"})") == 1'499'990'400U);
  CHECK_FALSE(time_in(R"({"at":"yesterday"})"));
  CHECK_FALSE(time_in(R"({"at":-1})"));
  CHECK_FALSE(time_in(R"({"at":null})"));
  CHECK_FALSE(time_in("{}"));
}

TEST_CASE("the position of a candidate's key is that of the same key in a container") {
  using octavo::partitioning::TypedKey;
  using octavo::storage::KeyScheme;
  DocumentParser parser;
  const auto body = *parser.parse(R"({"a":"x","b":5})");
  const auto single = candidate_of(KeyCandidate::Kind::single, {"/b"});
  KeyReader reader(single);
  reader.read({body, "id", 0, 1});
  CHECK(reader.position() == TypedKey({5.0}, false).position(KeyScheme::hash_v2));
  const auto hierarchy = candidate_of(KeyCandidate::Kind::hierarchical, {"/a", "/b"});
  KeyReader pairs(hierarchy);
  pairs.read({body, "id", 0, 1});
  CHECK(pairs.position() == TypedKey({std::string("x"), 5.0}, true).position(KeyScheme::multi_hash));
}

TEST_CASE("what is no path is refused") {
  CHECK_FALSE(AdvisedPath::parse("a"));
  CHECK_FALSE(AdvisedPath::parse("/a/"));
  CHECK_FALSE(AdvisedPath::parse(""));
}

TEST_CASE("a field has the path that a container would use") {
  CHECK(AdvisedPath::of(*FieldPath::parse("car.id"))->text() == "/car/id");
  CHECK(AdvisedPath::of(*FieldPath::parse("a/b"))->text() == R"(/"a/b")");
  CHECK(*AdvisedPath::of(*FieldPath::parse("car.id")) == *AdvisedPath::parse("/car/id"));
  CHECK_FALSE(AdvisedPath::of(FieldPath()));
}
