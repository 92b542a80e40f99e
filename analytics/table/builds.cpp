#include "analytics/table/builds.h"

#include <utility>

#include <fmt/format.h>

namespace octavo::analytics {

using duckdb::Connection;
using duckdb::Transaction;

namespace {

/// In the schema `octavo`. A statement that names a table that is not there would end the transaction.
Expected<bool> has_table(Connection& connection, std::string_view name) {
  OCTAVO_TRY(const auto found, connection.rows("select count(*) from duckdb_tables() where not temporary and "
                                               "schema_name = 'octavo' and table_name = $1 and "
                                               "database_name = current_database()",
                                               name));
  return found.front().front().integer != 0;
}

}  // namespace

Expected<std::vector<std::string>> names_of_tables(Connection& connection, bool are_beside) {
  OCTAVO_TRY(auto rows, connection.rows(fmt::format(
                            "select table_name from duckdb_tables() where not temporary and schema_name = 'main' and "
                            "database_name = current_database() and {} starts_with(table_name, '{}') order by all",
                            are_beside ? "" : "not", building_prefix)));
  std::vector<std::string> names;
  for (auto& row : rows) names.push_back(std::move(row.front().text));
  return names;
}

Expected<std::optional<std::uint64_t>> build_of_table(Connection& connection) {
  OCTAVO_TRY(const bool has_state, has_table(connection, "state"));
  if (!has_state) return std::nullopt;
  // Earlier tables have no number: they are the first ones of their files.
  OCTAVO_TRY_VOID(connection.run("alter table octavo.state add column if not exists build bigint default 0"));
  OCTAVO_TRY(const auto state, connection.rows("select build from octavo.state"));
  if (state.size() != 1) return std::nullopt;
  return static_cast<std::uint64_t>(state.front().front().integer);
}

Expected<std::uint64_t> ended_builds(Connection& connection) {
  OCTAVO_TRY(const bool has_builds, has_table(connection, "builds"));
  if (!has_builds) return 0;
  OCTAVO_TRY(const auto builds, connection.rows("select ended from octavo.builds"));
  return builds.empty() ? 0 : static_cast<std::uint64_t>(builds.front().front().integer);
}

Expected<void> end_builds(Connection& connection, std::uint64_t through) {
  OCTAVO_TRY(const std::uint64_t ended, ended_builds(connection));
  if (ended >= through) return {};
  OCTAVO_TRY(auto transaction, Transaction::begin(connection, false));
  OCTAVO_TRY_VOID(change_builds(connection, through));
  return transaction.commit();
}

Expected<std::uint64_t> change_builds(Connection& connection, std::uint64_t through) {
  OCTAVO_TRY_VOID(connection.run("create schema if not exists octavo"));
  OCTAVO_TRY_VOID(
      connection.run("create table if not exists octavo.builds as select 0::bigint ended, 0::bigint changes"));
  // The count makes it another row, also if no further build is over.
  OCTAVO_TRY(const auto builds,
             connection.rows(fmt::format("update octavo.builds set ended = greatest(ended, {}), changes = changes + 1 "
                                         "returning ended",
                                         through)));
  if (builds.size() != 1) return fail(ErrorCode::internal, "The builds of a table are damaged.");
  const auto ended = static_cast<std::uint64_t>(builds.front().front().integer);
  OCTAVO_TRY(const bool builds_one, has_table(connection, "building"));
  if (!builds_one) return ended;
  OCTAVO_TRY(const auto going_on,
             connection.rows(fmt::format("select build from octavo.building where build > {}", ended)));
  if (going_on.empty()) OCTAVO_TRY_VOID(remove_building(connection));
  return ended;
}

Expected<void> remove_building(Connection& connection) {
  OCTAVO_TRY(const bool builds_one, has_table(connection, "building"));
  if (!builds_one) return {};
  // A batch that is being written changes the same column, so that one of the two fails. DuckDB does not find that of a
  // row that is deleted, or of a table that is dropped.
  OCTAVO_TRY_VOID(connection.run("update octavo.building set checkpoint = checkpoint + 1"));
  OCTAVO_TRY_VOID(connection.run("drop table octavo.building"));
  return remove_tables(connection, true);
}

Expected<void> remove_tables(Connection& connection, bool are_beside) {
  OCTAVO_TRY(const auto names, names_of_tables(connection, are_beside));
  for (const std::string& name : names) OCTAVO_TRY_VOID(connection.run("drop table " + duckdb::quoted_name(name)));
  return connection.run(fmt::format("delete from octavo.columns where {} starts_with(table_name, '{}')",
                                    are_beside ? "" : "not", building_prefix));
}

}  // namespace octavo::analytics
