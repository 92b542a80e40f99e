// Which values the rows of documents have.
#include "analytics/table/row_writer.h"

#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

using namespace octavo;
using analytics::Column;
using analytics::ColumnBuffer;
using analytics::RowWriter;
using analytics::Schema;
using analytics::ValueKind;
using analytics::ValueType;

namespace {

/// A value of a buffer: `null`, `true`, `i1` (an integer), `n1.5`, `'text'`, `(…)` (the members of an object), `[…]`.
std::string shown(const ColumnBuffer& buffer, std::size_t row) {
  if ((buffer.validity()[row / 64] >> (row % 64) & 1) == 0) return "null";
  std::string text;
  switch (buffer.kind()) {
    case ValueKind::boolean:
      return buffer.booleans()[row] != 0 ? "true" : "false";
    case ValueKind::integer:
      return fmt::format("i{}", buffer.integers()[row]);
    case ValueKind::number:
      return fmt::format("n{}", buffer.numbers()[row]);
    case ValueKind::object:
      for (const ColumnBuffer& child : buffer.children()) text += (text.empty() ? "" : "|") + shown(child, row);
      return "(" + text + ")";
    case ValueKind::list: {
      const auto entry = buffer.lists()[row];
      for (std::size_t n = 0; n < entry.length; ++n) {
        text += (n > 0 ? "," : "") + shown(buffer.children().front(), entry.offset + n);
      }
      return "[" + text + "]";
    }
    default:
      return fmt::format("'{}'", buffer.texts()[row]);
  }
}

/// The values of the last row from the fifth column on: `_rest`, and those of the properties.
std::string last_row(const RowWriter& writer) {
  std::string text;
  for (std::size_t column = 4; column < writer.columns().size(); ++column) {
    text += (column > 4 ? "|" : "") + shown(writer.columns()[column], writer.rows() - 1);
  }
  return text;
}

std::string row_of(Schema& schema, std::string_view json) {
  RowWriter writer(schema);
  writer.write({"id", "1-a", 0, json});
  return last_row(writer);
}

Column column(std::string name, ValueKind kind) {
  return {std::move(name), ValueType::of(kind), 0, 1};
}

}  // namespace

TEST_CASE("a row begins with the id, the revision, the time, the mark of deleted documents and the rest") {
  Schema schema;
  schema.learn(R"({"City":"a"})");
  RowWriter writer(schema);
  writer.write({"id", "1-a", 7, R"({"city":"b","City":"a","CITY":[1]})"});
  CHECK(shown(writer.columns()[0], 0) == "'id'");
  CHECK(shown(writer.columns()[1], 0) == "'1-a'");
  CHECK(shown(writer.columns()[2], 0) == "i7");
  CHECK(last_row(writer) == R"('{"city":"b","CITY":[1]}'|'a')");
  writer.write({"id", "1-a", 0, "{}"});
  CHECK(shown(writer.columns()[2], 1) == "null");
  CHECK(last_row(writer) == "null|null");
}

TEST_CASE("rows of elements begin with the id, the position and the rest") {
  Schema schema;
  schema.learn(R"({"a":1,"value":"x"})");
  RowWriter writer(schema, 1);
  query::JsonCursor cursor(R"([{"a":2,"A":3},"y",null,[1]])");
  std::string text;
  std::array<std::int64_t, 1> position{0};
  for (bool more = cursor.enter(); more; more = cursor.next()) {
    writer.write_element("id", position, cursor);
    ++position.front();
    for (const ColumnBuffer& column : writer.columns()) text += shown(column, writer.rows() - 1) + "|";
    text += "\n";
  }
  CHECK(text ==
        "'id'|i0|'{\"A\":3}'|i2|null|\n'id'|i1|null|null|'y'|\n'id'|i2|null|null|null|\n'id'|i3|null|null|null|\n");
  CHECK(schema.columns()[1].dropped == 1);
}

TEST_CASE("an element that is null has a row without values, and without a rest") {
  Schema schema;
  RowWriter writer(schema, 1);
  query::JsonCursor cursor("[null,7]");
  REQUIRE(cursor.enter());
  writer.write_element("id", std::array<std::int64_t, 1>{0}, cursor);
  CHECK(shown(writer.columns().back(), 0) == "null");
  REQUIRE(cursor.next());
  writer.write_element("id", std::array<std::int64_t, 1>{1}, cursor);
  CHECK(shown(writer.columns().back(), 1) == R"('{"value":7}')");
}

TEST_CASE("the arrays of flattened properties are in no row") {
  Schema schema({.include = {}, .mode = analytics::InferenceMode::well_defined, .flattened = {"items"}});
  CHECK(row_of(schema, R"({"items":[1]})") == "null");
  CHECK(row_of(schema, R"({"items":{"a":1}})") == R"('{"items":{"a":1}}')");
}

TEST_CASE("with included properties there is no rest") {
  Schema schema({.include = {"b"}});
  schema.learn(R"({"a":1,"b":2})");
  CHECK(row_of(schema, R"({"a":1,"b":2,"c":3})") == "null|i2");
}

TEST_CASE("values of other types are null, and counted") {
  Schema schema({}, {column("n", ValueKind::integer), column("t", ValueKind::text), column("b", ValueKind::boolean)});
  CHECK(row_of(schema, R"({"n":"x","t":1,"b":[true]})") == "null|null|null|null");
  CHECK(row_of(schema, R"({"n":1.5,"t":null,"b":true})") == "null|null|null|true");
  CHECK(schema.columns()[0].dropped == 2);
  CHECK(schema.columns()[1].dropped == 1);
  CHECK(schema.columns()[2].dropped == 1);
}

TEST_CASE("a column of JSON takes every value") {
  Schema schema({}, {column("j", ValueKind::json)});
  for (const std::string_view value : {"1", "true", "\"x\\n\"", "{\"a\":[1]}", "[]"}) {
    CHECK(row_of(schema, fmt::format("{{\"j\":{}}}", value)) == fmt::format("null|'{}'", value));
  }
  CHECK(row_of(schema, R"({"j":null})") == "null|null");
  CHECK(schema.columns()[0].dropped == 0);
}

TEST_CASE("objects and lists are nested columns") {
  Schema schema;
  schema.learn(R"({"o":{"a":1,"b":{"c":"x"}},"l":[1],"e":{},"lo":[{"k":true}]})");
  RowWriter writer(schema);
  writer.write({"id", "1-a", 0, R"({"o":{"b":{"c":"y"},"a":7},"l":[1,null,3],"e":{},"lo":[{},{"k":false},null]})"});
  CHECK(last_row(writer) == "null|(i7|('y'))|[i1,null,i3]|'{}'|[(null),(false),null]");
  writer.write({"id", "1-a", 0, R"({"o":{},"l":[],"e":null,"lo":[{"k":true}]})"});
  CHECK(last_row(writer) == "null|(null|null)|[]|null|[(true)]");
  writer.write({"id", "1-a", 0, R"({"o":null,"unknown":1})"});
  CHECK(last_row(writer) == R"('{"unknown":1}'|null|null|null|null)");
  writer.write({"id", "1-a", 0, R"({"o":{"a":"x","b":3},"l":[[1],"x",5],"lo":{"k":true}})"});
  CHECK(last_row(writer) == "null|(null|null)|[null,null,i5]|null|null");
  CHECK(schema.columns()[0].dropped == 2);
  CHECK(schema.columns()[1].dropped == 2);
  CHECK(schema.columns()[3].dropped == 1);
  writer.clear();
  writer.write({"id", "1-a", 0, R"({"l":[9]})"});
  CHECK(writer.rows() == 1);
  CHECK(last_row(writer) == "null|null|[i9]|null|null");
}

TEST_CASE("elements of several types are texts of JSON") {
  Schema schema;
  schema.learn(R"({"l":[1,"x"]})");
  CHECK(row_of(schema, R"({"l":[1,"x",{"a":1},null]})") == R"(null|['1','"x"','{"a":1}',null])");
}

TEST_CASE("in full fidelity a value is a member of its place, and no value is null for its type") {
  Schema schema({.include = {}, .mode = analytics::InferenceMode::full_fidelity});
  for (const std::string_view json : {R"({"v":1})", R"({"v":"x"})", R"({"v":[true,{"a":2}]})"}) schema.learn(json);
  RowWriter writer(schema);
  writer.write({"id", "1-a", 0, R"({"v":1})"});
  CHECK(last_row(writer) == "null|(i1|null|null)");
  writer.write({"id", "1-a", 0, R"({"v":"x"})"});
  CHECK(last_row(writer) == "null|(null|'x'|null)");
  writer.write({"id", "1-a", 0, R"({"v":[true,{"a":2},null,{}]})"});
  CHECK(last_row(writer) == "null|(null|null|[(true|null),(null|((i2))),null,(null|(null))])");
  writer.write({"id", "1-a", 0, R"({"v":null})"});
  CHECK(last_row(writer) == "null|null");
  CHECK(schema.columns()[0].dropped == 0);
}

TEST_CASE("strings are decoded") {
  Schema schema;
  schema.learn(R"({"t":"x"})");
  CHECK(row_of(schema, R"({"t":"\u00e9\n\ud83d\ude00"})") == "null|'\u00e9\n\U0001F600'");
}

TEST_CASE("numbers beyond a double are the nearest one") {
  Schema schema({}, {column("n", ValueKind::number)});
  for (const auto& [json, expected] :
       std::vector<std::pair<std::string_view, double>>{{R"({"n":1e400})", std::numeric_limits<double>::max()},
                                                        {R"({"n":-1e400})", -std::numeric_limits<double>::max()},
                                                        {R"({"n":1e-400})", 0},
                                                        {R"({"n":12345678901234567890})", 12345678901234567890.0},
                                                        {R"({"n":3})", 3}}) {
    RowWriter writer(schema);
    writer.write({"id", "1-a", 7, json});
    CHECK(writer.columns().back().numbers().front() == expected);
  }
}

TEST_CASE("values that are very large are null, and counted") {
  Schema schema;
  const std::string large(RowWriter::value_bytes_max, 'x');
  schema.learn(R"({"t":"x","o":{"t":"x"}})");
  CHECK(row_of(schema, "{\"t\":\"" + large + "\"}") == "null|null|null");
  CHECK(schema.columns()[0].dropped == 1);
  CHECK(row_of(schema, "{\"o\":{\"t\":\"" + large + "\"}}") == "null|null|null");
  CHECK(schema.columns()[1].dropped == 1);
  CHECK(row_of(schema, "{\"other\":\"" + large + "\"}") == "null|null|null");
}

TEST_CASE("a row with too many cells has null for the value that goes beyond, and is complete") {
  Schema schema;
  schema.learn(R"({"a":1,"wide":[{"p":{"q":{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7}}}],"b":[1]})");
  std::string many = "[{}";
  for (std::size_t n = 1; n < RowWriter::row_cells_max / 9; ++n) many += ",{}";
  many += ']';
  RowWriter writer(schema);
  writer.write({"id", "1-a", 0, R"({"a":1,"wide":[{}],"b":[1]})"});
  writer.write({"id", "1-a", 0, "{\"a\":1,\"wide\":" + many + ",\"b\":[1,2]}"});
  CHECK(last_row(writer) == "null|i1|null|[i1,i2]");
  CHECK(schema.columns()[1].dropped == 1);
  writer.write({"id", "1-a", 0, R"({"wide":[{"p":{"q":{"g":8}}}]})"});
  CHECK(last_row(writer) == "null|null|[(((null|null|null|null|null|null|i8)))]|null");
  const ColumnBuffer& wide = writer.columns()[6];
  CHECK(wide.children().front().size() == 2);
  CHECK(writer.cells() < 100);
}
