#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/duckdb/connection.h"
#include "analytics/table/array_path.h"
#include "analytics/table/growing_table.h"
#include "analytics/table/row_writer.h"
#include "analytics/table/schema.h"
#include "base/error.h"
#include "base/function_ref.h"

namespace octavo::analytics {

/// The name of the table of documents.
inline constexpr std::string_view documents_name = "documents";

/// The elements of the arrays at a path are the rows of a table of their own.
struct Flattening {
  ArrayPath path;
  std::string table;
};

/// Which tables a store has, and which columns they get.
struct StoreRules {
  SchemaRules documents;
  std::vector<Flattening> flatten = {};
};

/// What a change of a document does to its row.
enum class RowChange : std::uint8_t {
  remove = 0,
  replace = 1,
  mark_deleted = 2  ///< the row stays as it is, with `_deleted` true; without a row nothing happens
};

/// A change of a document, for its row.
struct TableChange {
  std::string_view id;
  std::string_view revision;
  std::int64_t modified_s = 0;
  RowChange row = RowChange::remove;
  std::string_view json;  ///< the stored body
};

/// Rows that leave a table although nothing has changed.
struct ExpiredRows {
  std::int64_t written_before_s = 0;  ///< those with an earlier `_ts`; 0: none
  bool deleted = false;               ///< those of deleted documents
};

/// Which of the tables of a store a table is. A file has the one that answers, and maybe another one that is built
/// beside it and then takes its place, because the store has another definition.
struct TableRole {
  std::uint64_t build = 0;  ///< as Definition::build
  /// Builds of this file up to this number are over (builds.h): what is there of them goes.
  std::uint64_t ended = 0;
  /// The one that is being built beside this table, when it answers; 0: none.
  std::uint64_t building = 0;
  bool is_beside = false;  ///< it is built beside another one

  /// A crash came before the store's definition had changed.
  bool is_replaced_by(std::optional<std::uint64_t> answering) const { return building != 0 && answering == building; }
};

/// How far the table has followed the database.
struct TableState {
  std::uint64_t checkpoint = 0;
  std::uint64_t purge_count = 0;
  bool built = false;           ///< it had all documents once
  std::uint64_t rereads = 0;    ///< as Definition::rereads
  std::uint64_t reread_to = 0;  ///< its checkpoint before it began to read the feed again
};

/// The documents of a database as the rows of a table of DuckDB, in a file of its own; the elements of
/// flattened arrays are the rows of further ones. Everything in it is derived: a file
/// that cannot be used is made again.
///
/// Format (analytical store):
///   documents            _id varchar, _rev varchar, _ts bigint, _deleted boolean, _rest json, then the columns of
///                        octavo.columns
///   <table>              _id varchar, [_position_1 bigint, … of the elements around it, the outermost one first,]
///                        _position bigint, _rest json, then columns    the elements of the arrays at a path
///   octavo.state         format bigint, checkpoint bigint, purge_count bigint, built boolean, rereads bigint,
///                        reread_to bigint, build bigint (0 where it is missing)    one row
///   octavo.building      as octavo.state    of the tables that are built beside the others, with `_building_` before
///                        their names, also in octavo.columns
///   octavo.builds        ended bigint, changes bigint    one row; ended: the builds up to it are over (builds.h)
///   octavo.columns       table_name varchar, position bigint, name varchar, type varchar (`Types of columns`),
///                        dropped bigint, nodes bigint
///
/// The state changes in the transaction of the rows that it speaks of: after a crash the table continues from there,
/// and no change is missing or there twice. A transaction of a table that another one has replaced meanwhile fails,
/// as its row in the state has changed or is another table's. One thread at a time.
class DocumentTable {
 public:
  /// Opens or creates the table in the database that the connection uses. `rules` decide which tables and columns there
  /// are. `beyond`: the sequence of the database; a table that is further belongs to another past, and is made again.
  /// `rereads`: if it is another number than the table's, the rows stay and the checkpoint is 0. What is built beside
  /// it, and is not meant to be, is removed. Errors: those of error_of(); overloaded: the table that was built beside
  /// it has taken its place, or what was to be built is over.
  static Expected<DocumentTable> open(duckdb::Connection connection, const StoreRules& rules, TableRole role,
                                      std::uint64_t beyond, std::uint64_t rereads);

  const TableState& state() const { return state_; }
  bool is_beside() const { return role_.is_beside; }
  /// As ended_builds() when it was opened.
  std::uint64_t builds_ended() const { return builds_ended_; }
  /// Takes the place of the table that it was built beside, with all tables of elements, in one transaction. Whatever
  /// the outcome, it has to be opened again afterwards. Error overloaded: there is no other one.
  Expected<void> take_place();
  /// Brings the rows of these documents, each at most once, up to date. Precondition: the table's checkpoint is the
  /// feed's position before them. Afterwards it is `reached`; `complete`: then the table has all documents. After an
  /// error nothing has changed.
  Expected<void> apply(const std::vector<TableChange>& changes, std::uint64_t reached, bool complete);
  /// Removes rows, or marks them as those of deleted documents, and stores the purge count of the database that this
  /// accounts for.
  Expected<void> remove(const std::vector<std::string_view>& ids, std::uint64_t purge_count, bool marks);
  /// Removes some of the rows, at most `count_max`, and returns how many.
  Expected<std::size_t> remove_expired(const ExpiredRows& expired, std::size_t count_max);
  /// At most `count_max` ids of rows after `after`, in their order.
  Expected<std::vector<std::string>> ids_after(std::string_view after, std::size_t count_max);

 private:
  DocumentTable(duckdb::Connection connection, const StoreRules& rules, TableRole role);

  std::string_view state_table() const { return role_.is_beside ? "octavo.building" : "octavo.state"; }
  const std::string& documents_table() const { return tables_.front().name(); }
  Expected<bool> load(std::uint64_t beyond, std::uint64_t rereads);
  Expected<void> create(std::uint64_t rereads);
  Expected<void> change_rows(const std::vector<std::string_view>& ids, FunctionRef<Expected<void>()> change);
  Expected<void> remove_rows(const std::vector<std::string_view>& ids);
  Expected<void> mark_rows(const std::vector<std::string_view>& ids);
  Expected<void> store_state(const TableState& state);

  duckdb::Connection connection_;
  TableRole role_;
  std::vector<GrowingTable> tables_;  ///< `documents`, then those of elements in the order of the rules
  TableState state_;
  std::uint64_t builds_ended_ = 0;
};

struct TableContent {
  std::string name;
  std::uint64_t rows = 0;
  std::vector<Column> columns;
};
/// What is shown of a table.
struct TableStatus {
  TableState state;
  TableContent documents;
  std::uint64_t rows_deleted = 0;      ///< of `documents`, those of deleted ones
  std::vector<TableContent> elements;  ///< in the order of their names
};
/// Errors: not_found: the table was not made yet.
Expected<TableStatus> read_table_status(duckdb::Connection& connection);

}  // namespace octavo::analytics
