#include "analytics/table/document_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace octavo::analytics {

namespace {

using duckdb::Api;
using duckdb::AppenderHandle;
using duckdb::Connection;
using duckdb::quoted_name;
using duckdb::Transaction;

// Other tables are made again.
constexpr std::int64_t format_version = 1;

/// Writes rows into a table, through DuckDB's appender. Errors are kept: finish() returns the first.
class Appender final : public RowSink {
 public:
  Appender(Connection& connection, const char* schema, const char* table)
      : api_(connection.api()), appender_(api_.appender_destroy) {
    note(api_.appender_create(connection.handle(), schema, table, appender_.out()));
  }

  void null() override { note(api_.append_null(appender_.get())); }
  void boolean(bool value) override { note(api_.append_bool(appender_.get(), value)); }
  void integer(std::int64_t value) override { note(api_.append_int64(appender_.get(), value)); }
  void number(double value) override { note(api_.append_double(appender_.get(), value)); }
  void text(std::string_view value) override {
    note(api_.append_varchar_length(appender_.get(), value.data(), value.size()));
  }
  void end_row() override { note(api_.appender_end_row(appender_.get())); }

  Expected<void> finish() {
    if (ok_) note(api_.appender_close(appender_.get()));
    if (ok_) return {};
    const char* const text = api_.appender_error(appender_.get());
    // DuckDB gives no type of the error here.
    const std::string_view reason = text != nullptr ? text : "Rows cannot be appended.";
    const bool is_memory = reason.contains("Out of Memory") || reason.contains("could not allocate");
    return std::unexpected(
        duckdb::error_of(is_memory ? duckdb::ErrorType::out_of_memory : duckdb::ErrorType::io, reason));
  }

 private:
  void note(duckdb::State state) { ok_ = ok_ && state == duckdb::success; }

  const Api& api_;
  duckdb::Owned<AppenderHandle, duckdb::State> appender_;
  bool ok_ = true;
};

}  // namespace

Expected<DocumentTable> DocumentTable::open(std::shared_ptr<duckdb::Instance> instance, std::vector<std::string> include,
                                            std::uint64_t beyond) {
  OCTAVO_TRY(auto connection, Connection::open(std::move(instance)));
  DocumentTable table(std::move(connection), std::move(include));
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
  const auto stored = connection_.rows("select name, type, dropped from octavo.columns order by position");
  if (!stored) return false;
  std::vector<Column> columns;
  for (const auto& column : *stored) {
    const auto type = column_type_of(column[1].text);
    if (!type) return false;
    columns.push_back({column[0].text, *type, static_cast<std::uint64_t>(column[2].integer)});
  }
  schema_ = Schema(schema_.include(), std::move(columns));
  return true;
}

Expected<void> DocumentTable::create() {
  state_ = {};
  schema_ = Schema(schema_.include());
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(connection_.run("create schema if not exists octavo"));
  OCTAVO_TRY_VOID(connection_.run("create or replace table documents (_id varchar, _rev varchar, _ts bigint, _rest json)"));
  OCTAVO_TRY_VOID(connection_.run(
      "create or replace table octavo.columns (position bigint, name varchar, type varchar, dropped bigint)"));
  OCTAVO_TRY_VOID(connection_.run(
      "create or replace table octavo.state (format bigint, checkpoint bigint, purge_count bigint, built boolean)"));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("insert into octavo.state values ({}, 0, 0, false)", format_version)));
  return transaction.commit();
}

Expected<void> DocumentTable::change_columns(Schema& schema) {
  const auto changes = schema.take_changes();
  if (changes.empty()) return {};
  const auto definition_of = [&](std::size_t column) {
    const Column& one = schema.columns()[column];
    return quoted_name(one.name) + ' ' + std::string(sql_name(one.type));
  };
  const bool is_first = schema_.columns().empty();
  if (is_first) {
    // The table has no row yet, or rows without properties: one statement instead of a thousand.
    OCTAVO_TRY(const auto rows, connection_.rows("select count(*) from documents"));
    if (rows.front().front().integer == 0) {
      std::string sql = "create or replace table documents (_id varchar, _rev varchar, _ts bigint, _rest json";
      for (std::size_t column = 0; column < schema.columns().size(); ++column) sql += ", " + definition_of(column);
      OCTAVO_TRY_VOID(connection_.run(sql + ')'));
    } else {
      for (std::size_t column = 0; column < schema.columns().size(); ++column) {
        OCTAVO_TRY_VOID(connection_.run("alter table documents add column " + definition_of(column)));
      }
    }
  }
  for (const SchemaChange& change : changes) {
    const Column& column = schema.columns()[change.column];
    if (is_first) continue;
    if (change.kind == SchemaChange::Kind::add) {
      OCTAVO_TRY_VOID(connection_.run("alter table documents add column " + definition_of(change.column)));
    } else if (change.column < schema_.columns().size()) {
      // One that came in this batch has its type already.
      OCTAVO_TRY_VOID(connection_.run(
          fmt::format("alter table documents alter {} type {}", quoted_name(column.name), sql_name(column.type))));
    }
  }
  OCTAVO_TRY_VOID(connection_.run("delete from octavo.columns"));
  Appender appender(connection_, "octavo", "columns");
  for (std::size_t column = 0; column < schema.columns().size(); ++column) {
    const Column& one = schema.columns()[column];
    appender.integer(static_cast<std::int64_t>(column));
    appender.text(one.name);
    appender.text(sql_name(one.type));
    appender.integer(static_cast<std::int64_t>(one.dropped));
    appender.end_row();
  }
  return appender.finish();
}

Expected<void> DocumentTable::remove_rows(const std::vector<std::string_view>& ids) {
  if (ids.empty()) return {};
  OCTAVO_TRY_VOID(connection_.run("create temp table gone (id varchar)"));
  Appender appender(connection_, nullptr, "gone");
  for (const std::string_view id : ids) {
    appender.text(id);
    appender.end_row();
  }
  OCTAVO_TRY_VOID(appender.finish());
  OCTAVO_TRY_VOID(connection_.run("delete from documents using gone where documents._id = gone.id"));
  return connection_.run("drop table gone");
}

Expected<void> DocumentTable::append_rows(const std::vector<RowSource>& rows, Schema& schema) {
  Appender appender(connection_, "main", "documents");
  RowWriter writer(schema);
  for (const RowSource& row : rows) writer.write(row, appender);
  return appender.finish();
}

Expected<void> DocumentTable::store_dropped(const Schema& schema) {
  for (std::size_t column = 0; column < schema.columns().size(); ++column) {
    const auto dropped = schema.columns()[column].dropped;
    const auto before = column < schema_.columns().size() ? schema_.columns()[column].dropped : 0;
    if (dropped == before) continue;
    OCTAVO_TRY_VOID(
        connection_.run(fmt::format("update octavo.columns set dropped = {} where position = {}", dropped, column)));
  }
  return {};
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
    RowSource row{change.id, change.revision, change.modified_s, {}};
    OCTAVO_TRY(row.members, query::split_object(change.json));
    schema.learn(row.members);
    rows.push_back(std::move(row));
  }
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(change_columns(schema));
  OCTAVO_TRY_VOID(remove_rows(ids));
  OCTAVO_TRY_VOID(append_rows(rows, schema));
  OCTAVO_TRY_VOID(store_dropped(schema));
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
  const auto state = connection.rows("select checkpoint, purge_count from octavo.state");
  if (!state || state->empty()) return fail(ErrorCode::not_found, "The table was not made yet.");
  TableStatus status;
  status.state = {static_cast<std::uint64_t>(state->front()[0].integer),
                  static_cast<std::uint64_t>(state->front()[1].integer)};
  OCTAVO_TRY(const auto rows, connection.rows("select count(*) from documents"));
  status.rows = static_cast<std::uint64_t>(rows.front().front().integer);
  OCTAVO_TRY(const auto columns, connection.rows("select name, type, dropped from octavo.columns order by position"));
  for (const auto& column : columns) {
    status.columns.push_back({column[0].text, column_type_of(column[1].text).value_or(ColumnType::text),
                              static_cast<std::uint64_t>(column[2].integer)});
  }
  OCTAVO_TRY_VOID(transaction.commit());
  return status;
}

}  // namespace octavo::analytics
