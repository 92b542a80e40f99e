#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/duckdb/connection.h"
#include "base/error.h"

namespace octavo::analytics {

/// The rows of an exported table that have the same texts in its partition columns.
struct Partition {
  std::int64_t number = 0;  ///< from 1, by which write_partitions() finds it in the same transaction
  std::string folder;       ///< relative: `city=Bern/paid=true`; empty without partition columns
  std::uint64_t rows = 0;
  /// Differs when a row came, went, has another revision or became that of a deleted document: a number of 64 bits over
  /// all of them.
  std::string fingerprint;
};

/// A table that is exported.
struct ExportedTable {
  std::string name;  ///< `documents`, or that of the elements of an array
  std::string made;  ///< differs when the table is made again with another definition
};

/// How a table is divided for an export: by columns of texts, numbers or booleans, as Hive, Spark and
/// DuckDB lay out folders. The empty text and NULL are one partition there. One transaction for all calls.
class Partitioning {
 public:
  static constexpr std::size_t partitions_max = 10'000;

  /// Errors: bad_request with the word export_syntax: no such column, or one of another type.
  static Expected<Partitioning> create(duckdb::Connection& connection, const ExportedTable& table,
                                       const std::vector<std::string>& columns);

  /// Of all columns of the table and of those of this: files of another layout cannot stand beside new ones.
  const std::string& layout() const { return layout_; }
  /// Reads the ids, revisions and partition columns of all rows. Errors: bad_request with the word export_limit: more
  /// than partitions_max, or a text that is too long for the name of a folder.
  Expected<std::vector<Partition>> list(duckdb::Connection& connection) const;
  /// Writes the rows of these partitions as Parquet files into `folder`/_partition={number}/. Holds open as many files
  /// as there are partitions; reads the table once.
  Expected<void> write(duckdb::Connection& connection, const std::vector<std::int64_t>& numbers,
                       const std::string& folder) const;

 private:
  explicit Partitioning(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  std::string texts_as_columns() const;
  std::string numbered_keys() const;

  std::vector<std::string> columns_;
  std::string table_;     ///< quoted
  std::string versions_;  ///< the rows as a source with their documents' revisions
  std::string identity_;  ///< the columns of it that differ between rows and between their versions
  std::string layout_;
};

/// `name=text`, with the escapes of Hive: %XX for what has a meaning in paths. Other characters stay, UTF-8 included:
/// Spark reads an escape as one character, not as a byte. An empty text is Hive's name for NULL.
std::string hive_folder_name(std::string_view column, std::string_view text);

}  // namespace octavo::analytics
