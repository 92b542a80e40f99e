#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "analytics/duckdb/connection.h"
#include "analytics/table/column_buffer.h"
#include "base/error.h"

namespace octavo::analytics {

/// Appends rows to a table of DuckDB, in chunks. Errors are kept: finish() returns the first.
class TableAppender {
 public:
  /// Rows of a chunk: the size of DuckDB's vectors.
  static constexpr std::size_t rows_max = 2'048;

  /// `schema`: null: the one of temporary tables.
  TableAppender(duckdb::Connection& connection, const char* schema, const char* table);
  /// Appends at most `rows_max` rows. Precondition: the columns are those of the table, in their order and with their
  /// types.
  void append(const std::vector<ColumnBuffer>& columns);
  /// The rows are in the table.
  Expected<void> finish();

 private:
  bool make_chunk();
  bool fill(duckdb::VectorHandle vector, const ColumnBuffer& column);
  void note(duckdb::State state) { ok_ = ok_ && state == duckdb::success; }

  const duckdb::Api& api_;
  duckdb::Owned<duckdb::AppenderHandle, duckdb::State> appender_;
  duckdb::Owned<duckdb::ChunkHandle> chunk_;
  bool ok_ = true;
};

}  // namespace octavo::analytics
