#include "analytics/table/document_table.h"

#include <initializer_list>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "analytics/table/column_buffer.h"
#include "analytics/table/sql_type.h"
#include "analytics/table/table_appender.h"

namespace octavo::analytics {

namespace {

using duckdb::Connection;
using duckdb::quoted_name;
using duckdb::Transaction;

// Other tables are made again.
constexpr std::int64_t format_version = 2;
// Of the rows that are passed to DuckDB at once, some 16 MiB.
constexpr std::size_t chunk_cells_max = 1'000'000;
constexpr std::string_view fixed_columns = "_id varchar, _rev varchar, _ts bigint, _rest json";

std::string definition_of(const Column& column) {
  return quoted_name(column.name) + ' ' + sql_name(column.type);
}

std::vector<ColumnBuffer> buffers_of(std::initializer_list<ValueKind> kinds) {
  std::vector<ColumnBuffer> buffers;
  for (const ValueKind kind : kinds) buffers.emplace_back(ValueType::of(kind));
  return buffers;
}

// Of a row of octavo.columns: name, type, dropped, nodes. nullopt: there is no such type.
std::optional<Column> column_of(const std::vector<duckdb::SimpleValue>& row) {
  auto type = type_of_stored(row[1].text);
  if (!type) return std::nullopt;
  return Column{row[0].text, *std::move(type), static_cast<std::uint64_t>(row[2].integer),
                static_cast<std::uint64_t>(row[3].integer)};
}
constexpr const char* select_columns = "select name, type, dropped, nodes from octavo.columns order by position";

}  // namespace

Expected<DocumentTable> DocumentTable::open(std::shared_ptr<duckdb::Instance> instance, SchemaRules rules,
                                            std::uint64_t beyond) {
  OCTAVO_TRY(auto connection, Connection::open(std::move(instance)));
  DocumentTable table(std::move(connection), std::move(rules));
  OCTAVO_TRY(const bool loaded, table.load(beyond));
  if (!loaded) OCTAVO_TRY_VOID(table.create());
  return table;
}

// False: there is no table that can be used.
Expected<bool> DocumentTable::load(std::uint64_t beyond) {
  const auto tables = connection_.rows(
      "select count(*) from information_schema.tables where (table_schema = 'octavo' and table_name in ('state', "
      "'columns')) or (table_schema = 'main' and table_name = 'documents')");
  if (!tables) return std::unexpected(tables.error());
  if (tables->front().front().integer != 3) return false;
  const auto state = connection_.rows("select format, checkpoint, purge_count, built::bigint from octavo.state");
  if (!state || state->size() != 1) return false;
  const auto& row = state->front();
  state_ = {static_cast<std::uint64_t>(row[1].integer), static_cast<std::uint64_t>(row[2].integer), row[3].integer != 0};
  if (row[0].integer != format_version || state_.checkpoint > beyond) return false;
  const auto stored = connection_.rows(select_columns);
  if (!stored) return false;
  std::vector<Column> columns;
  for (const auto& described : *stored) {
    auto column = column_of(described);
    if (!column) return false;
    columns.push_back(*std::move(column));
  }
  schema_ = Schema(schema_.rules(), std::move(columns));
  return true;
}

Expected<void> DocumentTable::create() {
  state_ = {};
  schema_ = Schema(schema_.rules());
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(connection_.run("create schema if not exists octavo"));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("create or replace table documents ({})", fixed_columns)));
  OCTAVO_TRY_VOID(connection_.run(
      "create or replace table octavo.columns (position bigint, name varchar, type varchar, dropped bigint, nodes bigint)"));
  OCTAVO_TRY_VOID(connection_.run(
      "create or replace table octavo.state (format bigint, checkpoint bigint, purge_count bigint, built boolean)"));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("insert into octavo.state values ({}, 0, 0, false)", format_version)));
  return transaction.commit();
}

// Adds columns, and lets those that there are grow.
Expected<void> DocumentTable::change_columns(const Schema& schema) {
  const auto& before = schema_.columns();
  const auto& after = schema.columns();
  if (before.empty() && !after.empty()) {
    OCTAVO_TRY(const auto rows, connection_.rows("select count(*) from documents"));
    if (rows.front().front().integer == 0) {
      // One statement instead of a thousand.
      std::string sql = fmt::format("create or replace table documents ({}", fixed_columns);
      for (const Column& column : after) sql += ", " + definition_of(column);
      return connection_.run(sql + ')');
    }
  }
  for (std::size_t column = 0; column < before.size(); ++column) {
    const std::string type = sql_name(after[column].type);
    if (sql_name(before[column].type) == type) continue;
    const std::string name = quoted_name(after[column].name);
    OCTAVO_TRY_VOID(connection_.run(fmt::format("alter table documents alter {} type {} using {}", name, type,
                                                conversion(before[column].type, after[column].type, name))));
  }
  for (std::size_t column = before.size(); column < after.size(); ++column) {
    OCTAVO_TRY_VOID(connection_.run("alter table documents add column " + definition_of(after[column])));
  }
  return {};
}

Expected<void> DocumentTable::remove_rows(const std::vector<std::string_view>& ids) {
  if (ids.empty()) return {};
  OCTAVO_TRY_VOID(connection_.run("create temp table gone (id varchar)"));
  TableAppender appender(connection_, nullptr, "gone");
  auto columns = buffers_of({ValueKind::text});
  for (const std::string_view id : ids) {
    columns.front().text(id);
    if (columns.front().size() < TableAppender::rows_max) continue;
    appender.append(columns);
    columns.front().clear();
  }
  appender.append(columns);
  OCTAVO_TRY_VOID(appender.finish());
  OCTAVO_TRY_VOID(connection_.run("delete from documents using gone where documents._id = gone.id"));
  return connection_.run("drop table gone");
}

Expected<void> DocumentTable::append_rows(const std::vector<RowSource>& rows, Schema& schema) {
  TableAppender appender(connection_, "main", "documents");
  RowWriter writer(schema);
  for (const RowSource& row : rows) {
    writer.write(row);
    if (writer.rows() < TableAppender::rows_max && writer.cells() < chunk_cells_max) continue;
    appender.append(writer.columns());
    writer.clear();
  }
  appender.append(writer.columns());
  return appender.finish();
}

Expected<void> DocumentTable::store_columns(const Schema& schema) {
  if (schema.columns() == schema_.columns()) return {};
  OCTAVO_TRY_VOID(connection_.run("delete from octavo.columns"));
  static_assert(Schema::nodes_max <= TableAppender::rows_max);
  std::vector<std::string> types;
  for (const Column& column : schema.columns()) types.push_back(stored_form(column.type));
  auto columns = buffers_of(
      {ValueKind::integer, ValueKind::text, ValueKind::text, ValueKind::integer, ValueKind::integer});
  for (std::size_t n = 0; n < types.size(); ++n) {
    const Column& column = schema.columns()[n];
    columns[0].integer(static_cast<std::int64_t>(n));
    columns[1].text(column.name);
    columns[2].text(types[n]);
    columns[3].integer(static_cast<std::int64_t>(column.dropped));
    columns[4].integer(static_cast<std::int64_t>(column.nodes));
  }
  TableAppender appender(connection_, "octavo", "columns");
  appender.append(columns);
  return appender.finish();
}

Expected<void> DocumentTable::store_state(const TableState& state) {
  return connection_.run(fmt::format("update octavo.state set checkpoint = {}, purge_count = {}, built = {}", state.checkpoint,
                                     state.purge_count, state.built));
}

Expected<void> DocumentTable::apply(const std::vector<TableChange>& changes, std::uint64_t reached,
                                   bool complete) {
  Schema schema = schema_;
  std::vector<std::string_view> ids;
  std::vector<RowSource> rows;
  for (const TableChange& change : changes) {
    ids.push_back(change.id);
    if (!change.present) continue;
    if (!change.json.starts_with('{')) return fail(ErrorCode::corrupted, fmt::format("The body of {} is no object.", change.id));
    schema.learn(change.json);
    rows.push_back({change.id, change.revision, change.modified_s, change.json});
  }
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(change_columns(schema));
  OCTAVO_TRY_VOID(remove_rows(ids));
  OCTAVO_TRY_VOID(append_rows(rows, schema));
  OCTAVO_TRY_VOID(store_columns(schema));
  const TableState state{reached, state_.purge_count, state_.built || complete};
  OCTAVO_TRY_VOID(store_state(state));
  OCTAVO_TRY_VOID(transaction.commit());
  schema_ = std::move(schema);
  state_ = state;
  return {};
}

Expected<void> DocumentTable::remove(const std::vector<std::string_view>& ids, std::uint64_t purge_count) {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(remove_rows(ids));
  const TableState state{state_.checkpoint, purge_count, state_.built};
  OCTAVO_TRY_VOID(store_state(state));
  OCTAVO_TRY_VOID(transaction.commit());
  state_ = state;
  return {};
}

Expected<std::vector<std::string>> DocumentTable::ids_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(auto rows, connection_.rows(
                            fmt::format("select _id from documents where _id > $1 order by _id limit {}", count_max), after));
  std::vector<std::string> ids;
  for (auto& row : rows) ids.push_back(std::move(row.front().text));
  return ids;
}

Expected<TableStatus> read_table_status(Connection& connection) {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection, true));
  const auto state = connection.rows("select format, checkpoint, purge_count from octavo.state");
  if (!state || state->empty() || state->front()[0].integer != format_version) return fail(ErrorCode::not_found, "The table was not made yet.");
  TableStatus status;
  status.state = {static_cast<std::uint64_t>(state->front()[1].integer),
                  static_cast<std::uint64_t>(state->front()[2].integer)};
  OCTAVO_TRY(const auto rows, connection.rows("select count(*) from documents"));
  status.rows = static_cast<std::uint64_t>(rows.front().front().integer);
  OCTAVO_TRY(const auto columns, connection.rows(select_columns));
  for (const auto& row : columns) {
    if (auto column = column_of(row)) status.columns.push_back(*std::move(column));
  }
  OCTAVO_TRY_VOID(transaction.commit());
  return status;
}

}  // namespace octavo::analytics
