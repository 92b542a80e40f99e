// Which columns the properties of documents have, and which values their rows.
#include "analytics/table/schema.h"

#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <catch2/catch.hpp>

#include "analytics/table/row_writer.h"
#include "query/json/split.h"

using namespace octavo;
using analytics::Column;
using analytics::ColumnType;
using analytics::RowSource;
using analytics::RowWriter;
using analytics::Schema;
using analytics::SchemaChange;

namespace {

/// Writes rows as texts: `x|null|1`.
class TextSink final : public analytics::RowSink {
 public:
  void null() override { add("null"); }
  void boolean(bool value) override { add(value ? "true" : "false"); }
  void integer(std::int64_t value) override { add("i" + std::to_string(value)); }
  void number(double value) override {
    last_number = value;
    add("n" + std::to_string(value));
  }
  void text(std::string_view value) override { add("'" + std::string(value) + "'"); }
  void end_row() override { rows.push_back(std::exchange(row_, {})); }

  std::vector<std::string> rows;
  double last_number = 0;

 private:
  void add(const std::string& value) { row_ += (row_.empty() ? "" : "|") + value; }
  std::string row_;
};

void learn(Schema& schema, std::string_view json) {
  schema.learn(*query::split_object(json));
}

std::vector<std::string> names(const Schema& schema) {
  std::vector<std::string> found;
  for (const Column& column : schema.columns()) found.push_back(column.name + " " + std::string(sql_name(column.type)));
  return found;
}

/// The columns of a row from the fourth on: `_rest`, and those of the properties.
std::string row_of(Schema& schema, std::string_view json) {
  TextSink sink;
  const RowSource source{"id", "1-a", 0, *query::split_object(json)};
  RowWriter(schema).write(source, sink);
  const std::string& row = sink.rows.front();
  constexpr std::string_view head = "'id'|'1-a'|null|";
  REQUIRE(row.starts_with(head));
  return row.substr(head.size());
}

}  // namespace

TEST_CASE("the first value that is not null decides the type of a column") {
  Schema schema;
  learn(schema, R"({"a":null,"b":1,"c":"x","d":true,"e":[],"f":{},"g":1.0,"h":-0,"i":1e2})");
  learn(schema, R"({"a":"late","b":"other"})");
  CHECK(names(schema) == std::vector<std::string>{"b BIGINT", "c VARCHAR", "d BOOLEAN", "e JSON", "f JSON", "g DOUBLE",
                                                  "h BIGINT", "i DOUBLE", "a VARCHAR"});
}

TEST_CASE("a column of integers becomes one of numbers, and never one of integers again") {
  Schema schema;
  learn(schema, R"({"n":1})");
  CHECK(schema.take_changes() == std::vector<SchemaChange>{{SchemaChange::Kind::add, 0}});
  learn(schema, R"({"n":9223372036854775808})");
  CHECK(schema.take_changes() == std::vector<SchemaChange>{{SchemaChange::Kind::widen, 0}});
  learn(schema, R"({"n":7})");
  CHECK(schema.take_changes().empty());
  CHECK(names(schema) == std::vector<std::string>{"n DOUBLE"});
}

TEST_CASE("names that DuckDB takes for the same have one column") {
  Schema schema;
  learn(schema, R"({"City":"a","city":"b","CITY":1})");
  CHECK(names(schema) == std::vector<std::string>{"City VARCHAR"});
  CHECK(row_of(schema, R"({"city":"b","City":"a","CITY":[1]})") == R"('{"city":"b","CITY":[1]}'|'a')");
  // A number of the other name does not widen the column.
  Schema numbers;
  learn(numbers, R"({"n":1,"N":1.5})");
  CHECK(names(numbers) == std::vector<std::string>{"n BIGINT"});
}

TEST_CASE("names that no column can have, and those beyond the limit, are in the rest") {
  Schema schema;
  learn(schema, R"({"":1,"a\u0000b":2,"_etag":"x","ok":3})");
  CHECK(names(schema) == std::vector<std::string>{"ok BIGINT"});
  std::string many = "{";
  for (std::size_t n = 0; n < Schema::columns_max + 10; ++n) many += "\"p" + std::to_string(n) + "\":1,";
  many.back() = '}';
  learn(schema, many);
  CHECK(schema.columns().size() == Schema::columns_max);
  CHECK_FALSE(schema.find("p1005"));
}

TEST_CASE("only included properties have columns, and there is no rest") {
  Schema schema({"b"});
  learn(schema, R"({"a":1,"b":2})");
  CHECK(names(schema) == std::vector<std::string>{"b BIGINT"});
  CHECK(row_of(schema, R"({"a":1,"b":2,"c":3})") == "null|i2");
}

TEST_CASE("values of other types are null, and counted") {
  Schema schema({}, {{"n", ColumnType::integer, 5}, {"t", ColumnType::text, 0}, {"j", ColumnType::json, 0}});
  CHECK(row_of(schema, R"({"n":"x","t":1,"j":true})") == "null|null|null|null");
  CHECK(row_of(schema, R"({"n":1.5,"t":null})") == "null|null|null|null");
  CHECK(schema.columns()[0].dropped == 7);
  CHECK(schema.columns()[1].dropped == 1);
  CHECK(schema.columns()[2].dropped == 1);
}

TEST_CASE("strings are decoded") {
  Schema schema;
  learn(schema, R"({"t":"x"})");
  CHECK(row_of(schema, R"({"t":"\u00e9\n\ud83d\ude00"})") == "null|'\u00e9\n\U0001F600'");
}

TEST_CASE("numbers beyond a double are the nearest one") {
  Schema schema({}, {{"n", ColumnType::number, 0}});
  TextSink sink;
  for (const auto& [json, expected] :
       std::vector<std::pair<std::string_view, double>>{{R"({"n":1e400})", std::numeric_limits<double>::max()},
                                                        {R"({"n":-1e400})", -std::numeric_limits<double>::max()},
                                                        {R"({"n":1e-400})", 0},
                                                        {R"({"n":12345678901234567890})", 12345678901234567890.0},
                                                        {R"({"n":3})", 3}}) {
    RowWriter(schema).write({"id", "1-a", 7, *query::split_object(json)}, sink);
    CHECK(sink.last_number == expected);
  }
  CHECK(sink.rows.front().starts_with("'id'|'1-a'|i7|null|n"));
}

TEST_CASE("values that are very large are null, and counted") {
  Schema schema;
  const std::string large(RowWriter::value_bytes_max, 'x');
  learn(schema, R"({"t":"x"})");
  CHECK(row_of(schema, "{\"t\":\"" + large + "\"}") == "null|null");
  CHECK(schema.columns()[0].dropped == 1);
  CHECK(row_of(schema, "{\"other\":\"" + large + "\"}") == "null|null");
}

TEST_CASE("a schema continues from its stored columns") {
  Schema schema({}, {{"n", ColumnType::integer, 2}});
  learn(schema, R"({"n":1,"m":2})");
  CHECK(schema.take_changes() == std::vector<SchemaChange>{{SchemaChange::Kind::add, 1}});
  CHECK(schema.columns()[0].dropped == 2);
}
