#include "analytics/table/document_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analytics/table/column_buffer.h"
#include "analytics/table/table_appender.h"

namespace octavo::analytics {

namespace {

using duckdb::Connection;
using duckdb::Transaction;

// Other tables are made again.
constexpr std::int64_t format_version = 4;

/// The table of the rows at `path`, which is empty for documents: what is in tables of its own, or below, is not in its
/// rows.
GrowingTable table_of(std::string name, std::optional<ArrayPath> path, SchemaRules rules, const StoreRules& all) {
  std::vector<ArrayPath::Names> elsewhere;
  for (const Flattening& inside : all.flatten) {
    const ArrayPath::Names& names = inside.path.names();
    if (inside.path.parent() != (path ? std::string_view(path->text()) : std::string_view())) continue;
    if (names.size() == 1) {
      rules.flattened.push_back(names.front());
    } else {
      elsewhere.push_back(names);
    }
  }
  return {std::move(name), std::move(path), std::move(elsewhere), std::move(rules)};
}

}  // namespace

DocumentTable::DocumentTable(Connection connection, const StoreRules& rules) : connection_(std::move(connection)) {
  tables_.push_back(table_of(std::string(documents_name), std::nullopt, rules.documents, rules));
  for (const Flattening& flattening : rules.flatten) {
    const SchemaRules of_elements{.include = {}, .mode = rules.documents.mode};
    tables_.push_back(table_of(flattening.table, flattening.path, of_elements, rules));
  }
}

Expected<DocumentTable> DocumentTable::open(Connection connection, const StoreRules& rules, std::uint64_t beyond,
                                            std::uint64_t rereads) {
  DocumentTable table(std::move(connection), rules);
  OCTAVO_TRY(const bool loaded, table.load(beyond, rereads));
  if (!loaded) OCTAVO_TRY_VOID(table.create(rereads));
  return table;
}

// False: there is no table that can be used.
Expected<bool> DocumentTable::load(std::uint64_t beyond, std::uint64_t rereads) {
  const auto tables = connection_.rows(
      "select count(*) from duckdb_tables() where not temporary and database_name = current_database() and "
      "((schema_name = "
      "'octavo' and table_name in ('state', 'columns')) or schema_name = 'main')");
  if (!tables) return std::unexpected(tables.error());
  if (tables->front().front().integer != static_cast<std::int64_t>(2 + tables_.size())) return false;
  const auto state =
      connection_.rows("select format, checkpoint, purge_count, built::bigint, rereads, reread_to from octavo.state");
  if (!state || state->size() != 1) return false;
  const auto& row = state->front();
  state_ = {static_cast<std::uint64_t>(row[1].integer), static_cast<std::uint64_t>(row[2].integer), row[3].integer != 0,
            static_cast<std::uint64_t>(row[4].integer), static_cast<std::uint64_t>(row[5].integer)};
  if (row[0].integer != format_version || state_.checkpoint > beyond) return false;
  for (GrowingTable& one : tables_) {
    const auto loaded = one.load(connection_);
    if (!loaded || !*loaded) return false;
  }
  if (state_.rereads != rereads) {
    state_.reread_to = std::max(state_.reread_to, state_.checkpoint);
    state_.checkpoint = 0;
    state_.rereads = rereads;
    OCTAVO_TRY_VOID(store_state(state_));
  }
  return true;
}

Expected<void> DocumentTable::create(std::uint64_t rereads) {
  state_ = {.rereads = rereads};
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(connection_.run("create schema if not exists octavo"));
  OCTAVO_TRY_VOID(
      connection_.run(fmt::format("create or replace table octavo.columns ({})", GrowingTable::columns_definition)));
  for (GrowingTable& table : tables_) OCTAVO_TRY_VOID(table.create(connection_));
  OCTAVO_TRY_VOID(
      connection_.run("create or replace table octavo.state (format bigint, checkpoint bigint, purge_count bigint, "
                      "built boolean, rereads bigint, reread_to bigint)"));
  OCTAVO_TRY_VOID(connection_.run(
      fmt::format("insert into octavo.state values ({}, 0, 0, false, {}, 0)", format_version, rereads)));
  return transaction.commit();
}

// `change` finds the ids in the table `gone`.
Expected<void> DocumentTable::change_rows(const std::vector<std::string_view>& ids,
                                          FunctionRef<Expected<void>()> change) {
  if (ids.empty()) return {};
  OCTAVO_TRY_VOID(connection_.run("create temp table gone (id varchar)"));
  TableAppender appender(connection_, nullptr, "gone");
  auto columns = ColumnBuffer::of({ValueKind::text});
  for (const std::string_view id : ids) {
    columns.front().text(id);
    if (columns.front().size() < TableAppender::rows_max) continue;
    appender.append(columns);
    columns.front().clear();
  }
  appender.append(columns);
  OCTAVO_TRY_VOID(appender.finish());
  OCTAVO_TRY_VOID(change());
  return connection_.run("drop table gone");
}

Expected<void> DocumentTable::remove_rows(const std::vector<std::string_view>& ids) {
  return change_rows(ids, [&]() -> Expected<void> {
    for (GrowingTable& table : tables_) OCTAVO_TRY_VOID(table.remove_gone(connection_));
    return {};
  });
}

// The rows of their elements stay as they are.
Expected<void> DocumentTable::mark_rows(const std::vector<std::string_view>& ids) {
  return change_rows(ids, [&] {
    return connection_.run("update documents set _deleted = true from gone where documents._id = gone.id");
  });
}

Expected<void> DocumentTable::store_state(const TableState& state) {
  return connection_.run(
      fmt::format("update octavo.state set checkpoint = {}, purge_count = {}, built = {}, rereads = {}, "
                  "reread_to = {}",
                  state.checkpoint, state.purge_count, state.built, state.rereads, state.reread_to));
}

Expected<void> DocumentTable::apply(const std::vector<TableChange>& changes, std::uint64_t reached, bool complete) {
  std::vector<TableRows> batch;
  for (const GrowingTable& table : tables_) batch.push_back({table.schema(), {}});
  std::vector<std::string_view> ids;
  std::vector<std::string_view> deleted;
  for (const TableChange& change : changes) {
    (change.row == RowChange::mark_deleted ? deleted : ids).push_back(change.id);
    if (change.row != RowChange::replace) continue;
    if (!change.json.starts_with('{')) {
      return fail(ErrorCode::corrupted, fmt::format("The body of {} is no object.", change.id));
    }
    const RowSource row{change.id, change.revision, change.modified_s, change.json};
    for (std::size_t n = 0; n < tables_.size(); ++n) tables_[n].learn(batch[n], row);
  }
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  for (std::size_t n = 0; n < tables_.size(); ++n) OCTAVO_TRY_VOID(tables_[n].grow(connection_, batch[n].schema));
  OCTAVO_TRY_VOID(remove_rows(ids));
  OCTAVO_TRY_VOID(mark_rows(deleted));
  for (std::size_t n = 0; n < tables_.size(); ++n) OCTAVO_TRY_VOID(tables_[n].append(connection_, batch[n]));
  const TableState state{reached, state_.purge_count, state_.built || complete, state_.rereads, state_.reread_to};
  OCTAVO_TRY_VOID(store_state(state));
  OCTAVO_TRY_VOID(transaction.commit());
  for (std::size_t n = 0; n < tables_.size(); ++n) tables_[n].committed(std::move(batch[n].schema));
  state_ = state;
  return {};
}

Expected<void> DocumentTable::remove(const std::vector<std::string_view>& ids, std::uint64_t purge_count, bool marks) {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY_VOID(marks ? mark_rows(ids) : remove_rows(ids));
  const TableState state{state_.checkpoint, purge_count, state_.built, state_.rereads, state_.reread_to};
  OCTAVO_TRY_VOID(store_state(state));
  OCTAVO_TRY_VOID(transaction.commit());
  state_ = state;
  return {};
}

Expected<std::size_t> DocumentTable::remove_expired(const ExpiredRows& expired, std::size_t count_max) {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY(const auto found,
             connection_.rows(fmt::format("select _id from documents where _ts < {}{} limit {}",
                                          expired.written_before_s, expired.deleted ? " or _deleted" : "", count_max)));
  if (found.empty()) return 0;
  std::vector<std::string_view> ids;
  for (const auto& row : found) ids.push_back(row.front().text);
  OCTAVO_TRY_VOID(remove_rows(ids));
  OCTAVO_TRY_VOID(transaction.commit());
  return ids.size();
}

Expected<std::vector<std::string>> DocumentTable::ids_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(auto rows,
             connection_.rows(fmt::format("select _id from documents where _id > $1 order by _id limit {}", count_max),
                              after));
  std::vector<std::string> ids;
  for (auto& row : rows) ids.push_back(std::move(row.front().text));
  return ids;
}

Expected<TableStatus> read_table_status(Connection& connection) {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection, true));
  const auto state = connection.rows("select format, checkpoint, purge_count from octavo.state");
  if (!state || state->empty() || state->front()[0].integer != format_version)
    return fail(ErrorCode::not_found, "The table was not made yet.");
  TableStatus status;
  status.state = {static_cast<std::uint64_t>(state->front()[1].integer),
                  static_cast<std::uint64_t>(state->front()[2].integer)};
  OCTAVO_TRY(
      const auto names,
      connection.rows(
          "select table_name from duckdb_tables() where not temporary and database_name = current_database() and "
          "schema_name = 'main' order by table_name"));
  for (const auto& name : names) {
    const std::string& table = name.front().text;
    OCTAVO_TRY(const auto rows, connection.rows("select count(*) from " + duckdb::quoted_name(table)));
    OCTAVO_TRY(auto columns, stored_columns(connection, table));
    const TableContent content{table, static_cast<std::uint64_t>(rows.front().front().integer), std::move(columns)};
    if (table == documents_name) {
      status.documents = content;
      OCTAVO_TRY(const auto deleted, connection.rows("select count(*) from documents where _deleted"));
      status.rows_deleted = static_cast<std::uint64_t>(deleted.front().front().integer);
    } else {
      status.elements.push_back(content);
    }
  }
  OCTAVO_TRY_VOID(transaction.commit());
  return status;
}

}  // namespace octavo::analytics
