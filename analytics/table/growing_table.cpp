#include "analytics/table/growing_table.h"

#include <cstddef>

#include <fmt/format.h>

#include "analytics/table/column_buffer.h"
#include "analytics/table/sql_type.h"
#include "analytics/table/table_appender.h"
#include "query/json/json_cursor.h"

namespace octavo::analytics {

namespace {

using duckdb::Connection;
using duckdb::quoted_name;
using duckdb::quoted_text;

// Of the rows that are passed to DuckDB at once, some 16 MiB.
constexpr std::size_t chunk_cells_max = 1'000'000;

std::string definition_of(const Column& column) {
  return quoted_name(column.name) + ' ' + sql_name(column.type);
}

}  // namespace

Expected<std::vector<Column>> stored_columns(Connection& connection, std::string_view table) {
  OCTAVO_TRY(
      const auto rows,
      connection.rows("select name, type, dropped, nodes from octavo.columns where table_name = $1 order by position",
                      table));
  std::vector<Column> columns;
  for (const auto& row : rows) {
    auto type = type_of_stored(row[1].text);
    if (!type) continue;
    columns.push_back({row[0].text, *std::move(type), static_cast<std::uint64_t>(row[2].integer),
                       static_cast<std::uint64_t>(row[3].integer)});
  }
  return columns;
}

std::string GrowingTable::fixed_columns() const {
  if (!path_) return "_id varchar, _rev varchar, _ts bigint, _deleted boolean, _rest json";
  std::string columns = "_id varchar, ";
  for (std::size_t n = 1; n < arrays(); ++n) columns += fmt::format("_position_{} bigint, ", n);
  return columns + "_position bigint, _rest json";
}

// `texts` gets what elements are when they are not as they stand in the document.
void GrowingTable::for_each_element(const RowSource& source, std::deque<std::string>& texts,
                                    FunctionRef<void(ArrayPath::Positions, query::JsonCursor&)> visit) const {
  path_->for_each_element(source.json, [&](ArrayPath::Positions positions, query::JsonCursor& element) {
    if (elsewhere_.empty()) return visit(positions, element);
    query::JsonCursor changed(without_arrays(element.skip(), elsewhere_, texts));
    visit(positions, changed);
  });
}

void GrowingTable::learn(TableRows& batch, const RowSource& document) const {
  std::deque<std::string> texts;
  if (!path_) {
    batch.schema.learn(without_arrays(document.json, elsewhere_, texts));
    batch.rows.push_back(document);
    return;
  }
  const auto outermost = path_->outermost(document.json);
  if (!outermost) return;
  const RowSource& source = batch.rows.emplace_back(RowSource{document.id, {}, 0, *outermost});
  for_each_element(source, texts, [&]([[maybe_unused]] ArrayPath::Positions positions, query::JsonCursor& element) {
    batch.schema.learn_element(element);
    texts.clear();
  });
}

Expected<void> GrowingTable::create(Connection& connection) {
  schema_ = Schema(schema_.rules());
  return connection.run(fmt::format("create or replace table {} ({})", quoted_name(name_), fixed_columns()));
}

Expected<bool> GrowingTable::load(Connection& connection) {
  OCTAVO_TRY(const auto count, connection.rows("select count(*) from octavo.columns where table_name = $1", name_));
  OCTAVO_TRY(auto columns, stored_columns(connection, name_));
  if (columns.size() != static_cast<std::size_t>(count.front().front().integer)) return false;
  schema_ = Schema(schema_.rules(), std::move(columns));
  return true;
}

Expected<void> GrowingTable::append(Connection& connection, TableRows& batch) {
  OCTAVO_TRY_VOID(append_rows(connection, batch));
  return store_columns(connection, batch.schema);
}

// Adds columns, and lets those that there are grow.
Expected<void> GrowingTable::grow(Connection& connection, const Schema& schema) {
  const auto& before = schema_.columns();
  const auto& after = schema.columns();
  const std::string table = quoted_name(name_);
  if (before.empty() && !after.empty()) {
    OCTAVO_TRY(const auto rows, connection.rows("select count(*) from " + table));
    if (rows.front().front().integer == 0) {
      // One statement instead of a thousand.
      std::string sql = fmt::format("create or replace table {} ({}", table, fixed_columns());
      for (const Column& column : after) sql += ", " + definition_of(column);
      return connection.run(sql + ')');
    }
  }
  for (std::size_t column = 0; column < before.size(); ++column) {
    const std::string type = sql_name(after[column].type);
    if (sql_name(before[column].type) == type) continue;
    const std::string name = quoted_name(after[column].name);
    OCTAVO_TRY_VOID(connection.run(fmt::format("alter table {} alter {} type {} using {}", table, name, type,
                                               conversion(before[column].type, after[column].type, name))));
  }
  for (std::size_t column = before.size(); column < after.size(); ++column) {
    OCTAVO_TRY_VOID(connection.run(fmt::format("alter table {} add column {}", table, definition_of(after[column]))));
  }
  return {};
}

Expected<void> GrowingTable::append_rows(Connection& connection, TableRows& batch) {
  if (batch.rows.empty()) return {};
  TableAppender appender(connection, "main", name_.c_str());
  RowWriter writer(batch.schema, arrays());
  std::deque<std::string> texts;  // those of the rows in the writer
  const auto pass_on = [&](bool is_last) {
    if (!is_last && writer.rows() < TableAppender::rows_max && writer.cells() < chunk_cells_max) return;
    appender.append(writer.columns());
    writer.clear();
    texts.clear();
  };
  for (const RowSource& source : batch.rows) {
    if (!path_) {
      RowSource row = source;
      row.json = without_arrays(source.json, elsewhere_, texts);
      writer.write(row);
      pass_on(false);
      continue;
    }
    for_each_element(source, texts, [&](ArrayPath::Positions positions, query::JsonCursor& element) {
      writer.write_element(source.id, positions, element);
      pass_on(false);
    });
  }
  pass_on(true);
  return appender.finish();
}

Expected<void> GrowingTable::store_columns(Connection& connection, const Schema& schema) {
  if (schema.columns() == schema_.columns()) return {};
  OCTAVO_TRY_VOID(connection.run("delete from octavo.columns where table_name = " + quoted_text(name_)));
  static_assert(Schema::nodes_max <= TableAppender::rows_max);
  std::vector<std::string> types;
  for (const Column& column : schema.columns()) types.push_back(stored_form(column.type));
  auto columns = ColumnBuffer::of(
      {ValueKind::text, ValueKind::integer, ValueKind::text, ValueKind::text, ValueKind::integer, ValueKind::integer});
  for (std::size_t n = 0; n < types.size(); ++n) {
    const Column& column = schema.columns()[n];
    columns[0].text(name_);
    columns[1].integer(static_cast<std::int64_t>(n));
    columns[2].text(column.name);
    columns[3].text(types[n]);
    columns[4].integer(static_cast<std::int64_t>(column.dropped));
    columns[5].integer(static_cast<std::int64_t>(column.nodes));
  }
  TableAppender appender(connection, "octavo", "columns");
  appender.append(columns);
  return appender.finish();
}

Expected<void> GrowingTable::remove_gone(Connection& connection) {
  const std::string table = quoted_name(name_);
  return connection.run(fmt::format("delete from {} using gone where {}._id = gone.id", table, table));
}

}  // namespace octavo::analytics
