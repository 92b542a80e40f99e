// Which columns the properties of documents have, and of which types.
#include "analytics/table/schema.h"

#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "analytics/table/sql_type.h"

using namespace octavo;
using analytics::Column;
using analytics::Schema;
using analytics::TypeInference;
using analytics::ValueKind;
using analytics::ValueType;

namespace {

std::vector<std::string> names(const Schema& schema) {
  std::vector<std::string> found;
  for (const Column& column : schema.columns()) found.push_back(column.name + " " + sql_name(column.type));
  return found;
}

/// The type of the property `v` after these values.
std::string type_after(const std::vector<std::string>& values) {
  Schema schema;
  for (const std::string& value : values) schema.learn("{\"v\":" + value + "}");
  return schema.columns().empty() ? "" : sql_name(schema.columns().front().type);
}

/// The same in mode full_fidelity.
std::string variants_after(const std::vector<std::string>& values) {
  Schema schema({.include = {}, .mode = analytics::InferenceMode::full_fidelity});
  for (const std::string& value : values) schema.learn("{\"v\":" + value + "}");
  return schema.columns().empty() ? "" : sql_name(schema.columns().front().type);
}

std::string nested(std::size_t levels, const std::string& open, const std::string& value, const std::string& close) {
  std::string text;
  for (std::size_t n = 0; n < levels; ++n) text += open;
  text += value;
  for (std::size_t n = 0; n < levels; ++n) text += close;
  return text;
}

/// `{"p0":1,"p1":1,…}`
std::string members(std::size_t first, std::size_t count, const std::string& value = "1") {
  std::string text = "{";
  for (std::size_t n = first; n < first + count; ++n) text += "\"p" + std::to_string(n) + "\":" + value + ",";
  text.back() = '}';
  return text;
}

}  // namespace

TEST_CASE("the first value that is not null decides the type of a column") {
  Schema schema;
  schema.learn(R"({"a":null,"b":1,"c":"x","d":true,"e":[],"f":{},"g":1.0,"h":-0,"i":1e2})");
  schema.learn(R"({"a":"late","b":"other"})");
  CHECK(names(schema) == std::vector<std::string>{"b BIGINT", "c VARCHAR", "d BOOLEAN", "e JSON[]", "f JSON",
                                                  "g DOUBLE", "h BIGINT", "i DOUBLE", "a VARCHAR"});
}

TEST_CASE("a column of integers becomes one of numbers, and never one of integers again") {
  CHECK(type_after({"1"}) == "BIGINT");
  CHECK(type_after({"1", "9223372036854775808"}) == "DOUBLE");
  CHECK(type_after({"1.5", "7"}) == "DOUBLE");
}

TEST_CASE("objects have the members that came, in their order") {
  CHECK(type_after({R"({"w":1,"h":2})"}) == R"(STRUCT("w" BIGINT, "h" BIGINT))");
  CHECK(type_after({"{}", R"({"w":1,"none":null})", R"({"name":"x","w":1.5})"}) ==
        R"(STRUCT("w" DOUBLE, "name" VARCHAR))");
  CHECK(type_after({R"({"w":1})", R"({"w":"x"})", "7", "[1]"}) == R"(STRUCT("w" BIGINT))");
  CHECK(type_after({"{}", "7", R"({"w":1})"}) == "JSON");
  CHECK(type_after({"{}", "[1]"}) == "JSON");
  CHECK(type_after({R"({"a\"b":{"c":true}})"}) == R"(STRUCT("a""b" STRUCT("c" BOOLEAN)))");
}

TEST_CASE("lists have the type of their elements, or JSON when they have several") {
  CHECK(type_after({"[]"}) == "JSON[]");
  CHECK(type_after({"[null]", "[1,null,2]"}) == "BIGINT[]");
  CHECK(type_after({"[1]", "[1.5]"}) == "DOUBLE[]");
  CHECK(type_after({R"([1,"x"])"}) == "JSON[]");
  CHECK(type_after({R"(["x"])", R"([{"a":1}])", "[[1]]"}) == "JSON[]");
  CHECK(type_after({R"([{"a":1},{"b":"x"}])"}) == R"(STRUCT("a" BIGINT, "b" VARCHAR)[])");
  CHECK(type_after({R"([[1],["x"]])"}) == "JSON[][]");
  CHECK(type_after({"[1]", R"({"a":1})", "2"}) == "BIGINT[]");
}

TEST_CASE("in full fidelity a place has a member for each type that came") {
  CHECK(variants_after({"null"}).empty());
  CHECK(variants_after({"1", "2.5", "null", "\"x\"", "1", "true"}) ==
        R"(STRUCT("int64" BIGINT, "float64" DOUBLE, "string" VARCHAR, "bool" BOOLEAN))");
  CHECK(variants_after({R"({"a":1})", R"({"a":"x"})", "[]", "7"}) ==
        R"(STRUCT("object" STRUCT("a" STRUCT("int64" BIGINT, "string" VARCHAR)), "array" JSON[], "int64" BIGINT))");
  CHECK(variants_after({R"([1,"x",null,[2]])"}) ==
        R"(STRUCT("array" STRUCT("int64" BIGINT, "string" VARCHAR, "array" STRUCT("int64" BIGINT)[])[]))");
  CHECK(variants_after({R"({"A":1})", R"({"a":1})", "2"}) == R"(STRUCT("object" JSON, "int64" BIGINT))");
  CHECK(variants_after({"{}"}) == R"(STRUCT("object" JSON))");
}

TEST_CASE("arrays and objects that are too deep are JSON") {
  const std::size_t most = TypeInference::depth_max;
  const std::string deepest = type_after({nested(most, "[", "1", "]")});
  CHECK(deepest == nested(most, "", "BIGINT", "[]"));
  CHECK(type_after({nested(most + 1, "[", "1", "]")}) == nested(most, "", "JSON", "[]"));
  CHECK(type_after({nested(most + 1, "{\"a\":", "1", "}")}).contains("STRUCT(\"a\" JSON)"));
  CHECK(type_after({nested(400, "[", "1", "]")}) == nested(most, "", "JSON", "[]"));
}

TEST_CASE("objects with too many members, or with names that no member can have, are JSON") {
  const std::size_t most = TypeInference::members_max;
  CHECK(type_after({members(0, most)}).starts_with("STRUCT"));
  CHECK(type_after({members(0, most), members(1, most)}) == "JSON");
  CHECK(type_after({members(0, most + 1), "[1]"}) == "JSON");
  CHECK(type_after({R"({"City":1})", R"({"city":2})"}) == "JSON");
  CHECK(type_after({R"({"":1})"}) == "JSON");
  CHECK(type_after({R"({"a\u0000b":1})"}) == "JSON");
  CHECK(type_after({"{\"" + std::string(257, 'x') + "\":1}"}) == "JSON");
  CHECK(type_after({R"({"a":{"":1}})"}) == R"(STRUCT("a" JSON))");
  CHECK(type_after({R"({"_id":1,"":null})"}) == R"(STRUCT("_id" BIGINT))");
}

TEST_CASE("what no longer fits becomes JSON, and its nodes do not come back") {
  Schema schema;
  // Objects that overflow one after the other: each takes members and leaves JSON.
  for (std::size_t n = 0; n < 100; ++n) {
    const std::string name = "{\"c" + std::to_string(n) + "\":";
    schema.learn(name + members(0, 60) + "}");
    schema.learn(name + members(60, 60) + "}");
  }
  std::size_t nodes = 0;
  for (const Column& column : schema.columns()) nodes += column.nodes;
  CHECK(nodes == Schema::nodes_max);
  CHECK(schema.columns().size() < 12);
  const auto before = schema.columns();
  schema.learn(R"({"new":1,"c0":{"other":1},"list":[1]})");
  CHECK(schema.columns() == before);
}

TEST_CASE("names that DuckDB takes for the same have one column") {
  Schema schema;
  schema.learn(R"({"City":"a","city":"b","CITY":1})");
  CHECK(names(schema) == std::vector<std::string>{"City VARCHAR"});
  // A number of the other name does not widen the column.
  Schema numbers;
  numbers.learn(R"({"n":1,"N":1.5})");
  CHECK(names(numbers) == std::vector<std::string>{"n BIGINT"});
}

TEST_CASE("names that no column can have, and those beyond the limit, have none") {
  Schema schema;
  schema.learn(R"({"":1,"a\u0000b":2,"_etag":"x","ok":3})");
  CHECK(names(schema) == std::vector<std::string>{"ok BIGINT"});
  schema.learn(members(0, Schema::nodes_max + 10));
  CHECK(schema.columns().size() == Schema::nodes_max);
  CHECK_FALSE(schema.find("p1005"));
}

TEST_CASE("only included properties have columns") {
  Schema schema({.include = {"b"}});
  schema.learn(R"({"a":1,"b":2})");
  CHECK(names(schema) == std::vector<std::string>{"b BIGINT"});
  CHECK_FALSE(schema.keeps_rest());
}

TEST_CASE("flattened properties have no column, and elements that are no objects are a value") {
  Schema documents({.include = {}, .mode = analytics::InferenceMode::well_defined, .flattened = {"items"}});
  documents.learn(R"({"items":[{"a":1}],"Items":1})");
  CHECK(names(documents) == std::vector<std::string>{"Items BIGINT"});
  Schema elements;
  query::JsonCursor cursor(R"([{"a":1},"x",null,{"a":0.5,"value":"y"}])");
  for (bool more = cursor.enter(); more; more = cursor.next()) elements.learn_element(cursor);
  CHECK(names(elements) == std::vector<std::string>{"a DOUBLE", "value VARCHAR"});
}

TEST_CASE("a schema continues from its stored columns") {
  Schema schema({}, {{"n", ValueType::of(ValueKind::integer), 2, 5}});
  schema.learn(R"({"n":1,"m":2})");
  CHECK(schema.columns()[0].dropped == 2);
  CHECK(schema.columns()[0].nodes == 5);
  CHECK(schema.columns().size() == 2);
}

TEST_CASE("types are stored and read again") {
  Schema schema;
  schema.learn(R"({"a":{"w":1,"é\"":[{"x":true}],"n":{}},"b":[],"c":[[1.5]],"d":["x",1],"e":"t"})");
  for (const Column& column : schema.columns()) {
    CHECK(analytics::type_of_stored(stored_form(column.type)) == column.type);
  }
  CHECK(stored_form(schema.columns()[0].type) == R"({"w":"BIGINT","é\"":[{"x":"BOOLEAN"}],"n":{}})");
  CHECK(stored_form(schema.columns()[1].type) == "[null]");
  Schema variants({.include = {}, .mode = analytics::InferenceMode::full_fidelity});
  variants.learn(R"({"a":{"w":[1,"x"]}})");
  const auto type = variants.columns().front().type;
  CHECK(analytics::type_of_stored(stored_form(type)) == type);
  CHECK(stored_form(type) == R"({"":{"object":{"w":{"":{"array":[{"":{"int64":"BIGINT","string":"VARCHAR"}}]}}}}})");
  CHECK_FALSE(analytics::type_of_stored("{\"\":[null]}"));
  CHECK_FALSE(analytics::type_of_stored("{\"\":{}}"));
  CHECK_FALSE(analytics::type_of_stored("\"FLOAT\""));
  CHECK_FALSE(analytics::type_of_stored("[]"));
  CHECK_FALSE(analytics::type_of_stored("BIGINT"));
  CHECK_FALSE(analytics::type_of_stored("{\"a\":1}"));
}

TEST_CASE("a type that has grown has an expression that converts its values") {
  const auto converted = [](const std::string& before, const std::string& after) {
    Schema schema;
    schema.learn("{\"v\":" + before + "}");
    const auto from = schema.columns().front().type;
    schema.learn("{\"v\":" + after + "}");
    return conversion(from, schema.columns().front().type, "\"v\"");
  };
  CHECK(converted("1", "2") == R"("v")");
  CHECK(converted("1", "2.5") == R"("v"::DOUBLE)");
  CHECK(converted("[]", "[2]") == R"(list_transform("v", lambda element0: null::BIGINT))");
  CHECK(converted("[1]", R"(["x"])") ==
        R"(list_transform("v", lambda element0: case when element0 is null then null else to_json(element0) end))");
  CHECK(
      converted(R"({"a'":1})", R"({"a'":1.5,"b":[1]})") ==
      R"(case when "v" is null then null else struct_pack("a'" := struct_extract("v", 'a''')::DOUBLE, "b" := null::BIGINT[]) end)");
  CHECK(converted("{}", R"({"b":1})") ==
        R"(case when "v" is null then null else struct_pack("b" := null::BIGINT) end)");
}
