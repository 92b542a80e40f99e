#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/duckdb/connection.h"
#include "base/error.h"

/// The numbers of the tables of a file: each table that is built beside the one that answers has a larger one than
/// those before it, and one at a time is there. A build is over when it was given up, when a later one has begun, or
/// when its table has taken the place of the other one; it must not begin again, although the message that opens it may
/// have been on its way for long.
///
/// Whatever creates, removes or replaces the tables of a build does so in a transaction that changes the row of
/// octavo.builds, so that of two that overlap one fails. Hence the tables that are there are never those of a build
/// that is over.
namespace octavo::analytics {

/// Before the names of the tables that are built. Names of tables in `flatten` begin with a letter.
inline constexpr std::string_view building_prefix = "_building_";

/// The tables with rows: those that are built, or those that answer.
Expected<std::vector<std::string>> names_of_tables(duckdb::Connection& connection, bool are_beside);

/// The number of the table that answers; nullopt: there is no such table.
Expected<std::optional<std::uint64_t>> build_of_table(duckdb::Connection& connection);

/// The builds up to this number are over in this file.
Expected<std::uint64_t> ended_builds(duckdb::Connection& connection);
/// Ends the builds up to a number, and removes what there is of them. Writes only if they are not over yet. Error
/// overloaded: another transaction changes the builds.
Expected<void> end_builds(duckdb::Connection& connection, std::uint64_t through);

// These are for the caller's transaction.

/// The same; returns ended_builds(). Overlaps with no other transaction that has called it.
Expected<std::uint64_t> change_builds(duckdb::Connection& connection, std::uint64_t through);
/// Removes what is built beside the table, if there is anything. Of this and a batch of it that overlap one fails.
Expected<void> remove_building(duckdb::Connection& connection);
/// Removes tables, and what is stored of their columns.
Expected<void> remove_tables(duckdb::Connection& connection, bool are_beside);

}  // namespace octavo::analytics
