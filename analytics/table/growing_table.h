#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analytics/duckdb/connection.h"
#include "analytics/table/array_path.h"
#include "analytics/table/row_writer.h"
#include "analytics/table/schema.h"
#include "base/error.h"
#include "base/function_ref.h"

namespace octavo::analytics {

/// What a batch brings to a table: the schema after it, and its rows.
struct TableRows {
  Schema schema;
  std::vector<RowSource> rows;
};

/// A table of DuckDB whose columns grow with the documents, and what is stored of them in `octavo.columns`. The
/// functions run in the caller's transaction.
class GrowingTable {
 public:
  /// `create or replace table octavo.columns` with them.
  static constexpr std::string_view columns_definition =
      "table_name varchar, position bigint, name varchar, type varchar, dropped bigint, nodes bigint";

  /// `path`: the rows are elements of these arrays; nullopt: documents. `elsewhere`: names that lead from a row,
  /// through objects in it, to arrays that are the rows of other tables.
  GrowingTable(std::string name, std::optional<ArrayPath> path, std::vector<ArrayPath::Names> elsewhere,
               SchemaRules rules)
      : name_(std::move(name)), path_(std::move(path)), elsewhere_(std::move(elsewhere)), schema_(std::move(rules)) {}

  const std::string& name() const { return name_; }
  const Schema& schema() const { return schema_; }

  /// Makes it, empty and without columns of properties, in place of any other.
  Expected<void> create(duckdb::Connection& connection);
  /// Reads its columns. False: they are damaged.
  Expected<bool> load(duckdb::Connection& connection);
  /// Adds the rows of a document to a batch, whose schema grows for them.
  void learn(TableRows& batch, const RowSource& document) const;
  /// Gives it the columns of a schema that has grown out of its own.
  Expected<void> grow(duckdb::Connection& connection, const Schema& schema);
  /// Appends rows. Precondition: it has grown for them.
  Expected<void> append(duckdb::Connection& connection, TableRows& batch);
  /// Removes the rows of the documents in the table `gone`.
  Expected<void> remove_gone(duckdb::Connection& connection);
  /// The transaction of these is committed.
  void committed(Schema schema) { schema_ = std::move(schema); }

 private:
  std::size_t arrays() const { return path_ ? path_->arrays() : 0; }
  std::string fixed_columns() const;
  void for_each_element(const RowSource& source, std::deque<std::string>& texts,
                        FunctionRef<void(ArrayPath::Positions, query::JsonCursor&)> visit) const;
  Expected<void> append_rows(duckdb::Connection& connection, TableRows& batch);
  Expected<void> store_columns(duckdb::Connection& connection, const Schema& schema);

  std::string name_;
  std::optional<ArrayPath> path_;
  std::vector<ArrayPath::Names> elsewhere_;
  Schema schema_;
};

/// The stored columns of a table; a type that is damaged leaves its column out.
Expected<std::vector<Column>> stored_columns(duckdb::Connection& connection, std::string_view table);

}  // namespace octavo::analytics
