#include "query/mango/text_selector.h"

#include <string>

#include <catch2/catch.hpp>

#include "query/search/text_index.h"

namespace octavo::query::search {
namespace {

namespace json = boost::json;

std::string query_of(std::string_view selector) {
  const auto made = text_query_of(json::parse(selector));
  if (!made) return "error: " + made.error().reason;
  return *made ? (*made)->text : "none";
}

std::vector<std::string> columns_of(std::string_view selector) {
  const auto made = text_query_of(json::parse(selector));
  REQUIRE(made);
  REQUIRE(*made);
  return (*made)->columns;
}

using Columns = std::vector<std::string>;

TEST_CASE("conditions become searches of fields with their type") {
  CHECK(query_of(R"({"a": 1})") == R"(a\:number:[1 TO 1])");
  CHECK(query_of(R"({"a": "x y"})") == R"(a\:string:"x y")");
  CHECK(query_of(R"({"a": true})") == R"(a\:boolean:"true")");
  CHECK(query_of(R"({"a": null})") == R"(a\:null:"true")");
  CHECK(query_of(R"({"a": {"b": 2.5}})") == R"(a.b\:number:[2.5 TO 2.5])");
  CHECK(query_of(R"({"a": {"$gt": 5, "$lte": 9}})") == R"((a\:number:{5 TO Infinity] AND a\:number:[-Infinity TO 9]))");
  CHECK(query_of(R"({"$or": [{"a": 1}, {"b": "x"}]})") == R"((a\:number:[1 TO 1] OR b\:string:"x"))");
  CHECK(query_of(R"({"a": {"$exists": true}})") == R"(($fieldnames:a\:* OR $fieldnames:a.*))");
}

TEST_CASE("what cannot be looked up leaves the rest of a conjunction") {
  CHECK(query_of(R"({"a": 1, "b": {"$exists": false}})") == R"(a\:number:[1 TO 1])");
  CHECK(query_of(R"({"b": {"$exists": false}})") == "none");
  CHECK(query_of(R"({})") == "none");
  CHECK(query_of(R"({"$or": [{"a": 1}, {"b": {"$exists": false}}]})") == "none");
  CHECK(query_of(R"({"$nor": [{"a": 1}]})") == "none");
}

TEST_CASE("arrays") {
  CHECK(query_of(R"({"a": {"$elemMatch": {"$eq": 3}}})") == R"(a.\[\]\:number:[3 TO 3])");
  CHECK(query_of(R"({"a": {"$elemMatch": {"": {"$eq": 3}}}})") == R"(a.\[\]\:number:[3 TO 3])");
  CHECK(query_of(R"({"a": {"$size": 2}})") == R"(a.\[\]\:length:[2 TO 2])");
  CHECK(query_of(R"({"a": {"$in": [1]}})") == R"((a\:number:[1 TO 1] OR a.\[\]\:number:[1 TO 1]))");
  CHECK(columns_of(R"({"a": {"$in": [1]}})") == Columns{"a:number"});
}

TEST_CASE("$text is a query in Lucene's syntax, of all strings or of a field") {
  CHECK(query_of(R"({"$text": "red AND blue"})") == R"(($default:red AND $default:blue))");
  CHECK(query_of(R"({"name": {"$text": "red"}, "n": 1})") == R"((name\:string:red AND n\:number:[1 TO 1]))");
  CHECK(columns_of(R"({"$text": "red", "n": 1})") == Columns{"$default", "n:number"});
  CHECK(query_of(R"({"$text": "a AND"})").starts_with("error: Cannot parse 'a AND'"));
  CHECK(query_of(R"({"$text": 7})").starts_with("error: Bad argument"));
}

TEST_CASE("$text is no test of a document") {
  CHECK_FALSE(without_text(json::parse(R"({"a": 1})")));
  CHECK(*without_text(json::parse(R"({"$text": "x"})")) == json::parse("{}"));
  CHECK(*without_text(json::parse(R"({"$and": [{"$text": "x"}, {"a": 1}]})")) ==
        json::parse(R"({"$and": [{"a": 1}]})"));
  CHECK(*without_text(json::parse(R"({"$or": [{"$text": "x"}, {"a": 1}], "b": 2})")) == json::parse(R"({"b": 2})"));
  CHECK(*without_text(json::parse(R"({"name": {"$text": "x"}, "a": 1})")) == json::parse(R"({"a": 1})"));
}

TEST_CASE("fields of a document, by path and type") {
  const auto source = make_text_fields(json::parse(R"({"fields": "all_fields"})"));
  REQUIRE(source);
  FeedDocument document;
  document.id = "x";
  document.present = true;
  document.json = R"({"_id":"x","a":{"b":"text"},"c.d":[1,true,null]})";
  std::vector<IndexedField> fields;
  REQUIRE((*source)->read(document, fields));
  std::vector<std::string> names;
  for (const auto& field : fields) names.push_back(field.name);
  for (const std::string name : {"$default", "_id:string", "a.b:string", R"(c\.d.[]:number)", R"(c\.d.[]:boolean)",
                                 R"(c\.d.[]:null)", R"(c\.d.[]:length)", "$fieldnames"}) {
    INFO(name);
    CHECK(std::ranges::find(names, name) != names.end());
  }
}

TEST_CASE("only the fields that were named, and only documents that the filter lets in") {
  const auto source = make_text_fields(json::parse(
      R"({"fields": [{"name": "a.b", "type": "string"}], "default_field": false, "index_array_lengths": false,
          "partial_filter_selector": {"n": {"$gt": 1}}})"));
  REQUIRE(source);
  FeedDocument document;
  document.id = "x";
  document.present = true;
  document.json = R"({"_id":"x","a":{"b":"text","c":"other"},"n":2})";
  std::vector<IndexedField> fields;
  REQUIRE((*source)->read(document, fields));
  REQUIRE(fields.size() == 2);
  CHECK(fields[0].name == "a.b:string");
  CHECK(std::get<std::string>(fields[1].value) == "a.b:string");
  document.json = R"({"_id":"x","a":{"b":"text"},"n":1})";
  REQUIRE((*source)->read(document, fields));
  CHECK(fields.empty());
}

TEST_CASE("definitions are checked in Mango's words") {
  const auto error = [](std::string_view text) { return check_text_index(json::parse(text).as_object()).error().word; };
  CHECK(error(R"({"fields": [{"name": "a"}]})") == "invalid_index_fields_definition");
  CHECK(error(R"({"fields": [{"name": "", "type": "string"}]})") == "invalid_index_fields_definition");
  CHECK(error(R"({"fields": [{"name": "a", "type": "date"}]})") == "invalid_index_fields_definition");
  CHECK(error(R"({"other": 1})") == "invalid_key");
  CHECK(error(R"({"default_field": {"analyzer": "klingon"}})") == "no_such_analyzer");
  CHECK(check_text_index(json::object{}));
}

}  // namespace
}  // namespace octavo::query::search
