#include "analytics/table/document_table.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "analytics/table/builds.h"
#include "analytics/table/column_buffer.h"
#include "analytics/table/table_appender.h"

namespace octavo::analytics {

namespace {

using duckdb::Connection;
using duckdb::Transaction;

// Other tables are made again.
constexpr std::int64_t format_version = 4;
constexpr std::string_view state_columns =
    "format bigint, checkpoint bigint, purge_count bigint, built boolean, rereads bigint, reread_to bigint, build "
    "bigint";

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

std::unexpected<Error> was_replaced() {
  return fail(ErrorCode::overloaded, "Another table has taken the place of this one.");
}

}  // namespace

DocumentTable::DocumentTable(Connection connection, const StoreRules& rules, TableRole role)
    : connection_(std::move(connection)), role_(role) {
  const std::string prefix(role.is_beside ? building_prefix : "");
  tables_.push_back(table_of(prefix + std::string(documents_name), std::nullopt, rules.documents, rules));
  for (const Flattening& flattening : rules.flatten) {
    const SchemaRules of_elements{.include = {}, .mode = rules.documents.mode};
    tables_.push_back(table_of(prefix + flattening.table, flattening.path, of_elements, rules));
  }
}

Expected<DocumentTable> DocumentTable::open(Connection connection, const StoreRules& rules, TableRole role,
                                            std::uint64_t beyond, std::uint64_t rereads) {
  OCTAVO_TRY(const auto answering, build_of_table(connection));
  if (role.is_beside) {
    role.is_beside = answering != role.build;
  } else {
    if (role.is_replaced_by(answering)) return was_replaced();
    OCTAVO_TRY_VOID(end_builds(connection, role.ended));
  }
  DocumentTable table(std::move(connection), rules, role);
  OCTAVO_TRY(const bool loaded, table.load(beyond, rereads));
  if (!loaded) OCTAVO_TRY_VOID(table.create(rereads));
  OCTAVO_TRY(table.builds_ended_, ended_builds(table.connection_));
  return table;
}

// False: there is no table that can be used.
Expected<bool> DocumentTable::load(std::uint64_t beyond, std::uint64_t rereads) {
  OCTAVO_TRY(const auto names, names_of_tables(connection_, role_.is_beside));
  if (names.size() != tables_.size()) return false;
  const auto state = connection_.rows(fmt::format(
      "select format, checkpoint, purge_count, built::bigint, rereads, reread_to, build from {}", state_table()));
  if (!state || state->size() != 1) return false;
  const auto& row = state->front();
  state_ = {static_cast<std::uint64_t>(row[1].integer), static_cast<std::uint64_t>(row[2].integer), row[3].integer != 0,
            static_cast<std::uint64_t>(row[4].integer), static_cast<std::uint64_t>(row[5].integer)};
  if (row[0].integer != format_version || static_cast<std::uint64_t>(row[6].integer) != role_.build) return false;
  if (state_.checkpoint > beyond) return false;
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
  // What has happened since this was asked for counts from here on: no other table can come or go.
  OCTAVO_TRY(const std::uint64_t ended, change_builds(connection_, role_.ended));
  if (role_.is_beside) {
    if (ended >= role_.build) return fail(ErrorCode::overloaded, "This table is not to be built any more.");
  } else {
    OCTAVO_TRY(const auto answering, build_of_table(connection_));
    if (role_.is_replaced_by(answering)) return was_replaced();
  }
  // What is built beside this one begins again, too, as its columns are stored with those of this one.
  OCTAVO_TRY_VOID(remove_building(connection_));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("create {} octavo.columns ({})",
                                              role_.is_beside ? "table if not exists" : "or replace table",
                                              GrowingTable::columns_definition)));
  if (!role_.is_beside) OCTAVO_TRY_VOID(remove_tables(connection_, false));
  for (GrowingTable& table : tables_) OCTAVO_TRY_VOID(table.create(connection_));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("create or replace table {} ({})", state_table(), state_columns)));
  OCTAVO_TRY_VOID(connection_.run(fmt::format("insert into {} values ({}, 0, 0, false, {}, 0, {})", state_table(),
                                              format_version, rereads, role_.build)));
  return transaction.commit();
}

Expected<void> DocumentTable::take_place() {
  OCTAVO_TRY(auto transaction, Transaction::begin(connection_, false));
  OCTAVO_TRY(const std::uint64_t ended, change_builds(connection_, role_.ended));
  if (!role_.is_beside || ended >= role_.build) return was_replaced();
  // The row is changed, and not another table made, so that transactions of the other table fail that have not ended.
  const auto replaced = connection_.rows(fmt::format(
      "update octavo.state set format = b.format, checkpoint = b.checkpoint, purge_count = b.purge_count, "
      "built = b.built, rereads = b.rereads, reread_to = b.reread_to, build = b.build from octavo.building b "
      "where b.build = {} returning octavo.state.build",
      role_.build));
  if (!replaced || replaced->size() != 1) return fail(ErrorCode::overloaded, "The other table is not there yet.");
  OCTAVO_TRY_VOID(remove_tables(connection_, false));
  for (const GrowingTable& table : tables_) {
    OCTAVO_TRY_VOID(connection_.run(fmt::format("alter table {} rename to {}", duckdb::quoted_name(table.name()),
                                                duckdb::quoted_name(table.name().substr(building_prefix.size())))));
  }
  OCTAVO_TRY_VOID(connection_.run(
      fmt::format("update octavo.columns set table_name = substr(table_name, {})", building_prefix.size() + 1)));
  OCTAVO_TRY_VOID(connection_.run("drop table octavo.building"));
  OCTAVO_TRY_VOID(change_builds(connection_, role_.build));
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
    return connection_.run(
        fmt::format("update {0} set _deleted = true from gone where {0}._id = gone.id", documents_table()));
  });
}

Expected<void> DocumentTable::store_state(const TableState& state) {
  OCTAVO_TRY(const auto changed,
             connection_.rows(fmt::format("update {} set checkpoint = {}, purge_count = {}, built = {}, rereads = {}, "
                                          "reread_to = {} where build = {} returning build",
                                          state_table(), state.checkpoint, state.purge_count, state.built,
                                          state.rereads, state.reread_to, role_.build)));
  if (changed.size() == 1) return {};
  return was_replaced();
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
             connection_.rows(fmt::format("select _id from {} where _ts < {}{} limit {}", documents_table(),
                                          expired.written_before_s, expired.deleted ? " or _deleted" : "", count_max)));
  if (found.empty()) return 0;
  std::vector<std::string_view> ids;
  for (const auto& row : found) ids.push_back(row.front().text);
  OCTAVO_TRY_VOID(remove_rows(ids));
  OCTAVO_TRY_VOID(store_state(state_));  // which fails if the rows are another table's
  OCTAVO_TRY_VOID(transaction.commit());
  return ids.size();
}

Expected<std::vector<std::string>> DocumentTable::ids_after(std::string_view after, std::size_t count_max) {
  OCTAVO_TRY(auto rows, connection_.rows(fmt::format("select _id from {} where _id > $1 order by _id limit {}",
                                                     documents_table(), count_max),
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
  OCTAVO_TRY(const auto names, names_of_tables(connection, false));
  for (const std::string& table : names) {
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
