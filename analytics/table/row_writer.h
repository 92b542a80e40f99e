#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/table/array_path.h"
#include "analytics/table/column_buffer.h"
#include "analytics/table/schema.h"
#include "query/json/json_cursor.h"

namespace octavo::analytics {

/// A document as it becomes a row.
struct RowSource {
  std::string_view id;
  std::string_view revision;
  std::int64_t modified_s = 0;  ///< 0: unknown
  std::string_view json;  ///< an object as normalize_document() leaves it; for rows of elements the outermost array
};

/// Makes rows of documents, in columns: `_id`, `_rev`, `_ts`, `_deleted` (false), `_rest` (the properties without a
/// column, as an object; NULL: there are none) and the columns of the schema. The rows of elements begin with `_id`,
/// their positions and `_rest`. Precondition: the schema has learnt the documents, and does not change meanwhile; the
/// documents live until clear().
///
/// A value that is not of its column's type, or of its member's or element's in it, becomes NULL, and is counted for
/// the column. So does a value that is too large. Numbers that are too large for a double become the nearest one.
class RowWriter {
 public:
  /// Of a value as JSON, and of `_rest`, which is NULL beyond it: larger ones could exceed DuckDB's memory for ever.
  static constexpr std::size_t value_bytes_max = 16ULL << 20;
  /// Of a row: each scalar, object and array, and each member that an object lacks, is a cell.
  static constexpr std::size_t row_cells_max = 1'000'000;

  /// `arrays`: how many are around each row, which is an element; 0: rows are documents.
  explicit RowWriter(Schema& schema, std::size_t arrays = 0);
  void write(const RowSource& source);
  /// Reads the element that comes: an object's properties, or the property `value`; of null nothing. `id`: of its
  /// document. `positions`: as many as there are arrays.
  void write_element(std::string_view id, ArrayPath::Positions positions, query::JsonCursor& cursor);
  /// Of the rows since clear().
  const std::vector<ColumnBuffer>& columns() const { return columns_; }
  std::size_t rows() const { return columns_.front().size(); }
  std::size_t cells() const { return cells_; }
  void clear();

 private:
  void write_object_columns(query::JsonCursor& cursor);
  void write_property(std::string_view name, query::JsonCursor& cursor, std::size_t& expected);
  void end_row();
  void write_column(query::JsonCursor& cursor, std::size_t column, ColumnBuffer& buffer);
  void write_value(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer);
  void write_scalar(std::string_view raw, const ValueType& type, ColumnBuffer& buffer);
  void write_variant(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer);
  void write_object(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer);
  void write_list(query::JsonCursor& cursor, const ValueType& type, ColumnBuffer& buffer);
  void add_null(ColumnBuffer& buffer);
  void complete(ColumnBuffer& object);
  void drop(ColumnBuffer& buffer);

  Schema& schema_;
  std::vector<ColumnBuffer> columns_;
  const std::size_t first_property_;  ///< of the columns; before it: `_rest`
  std::string rest_;                  ///< of the row that is written
  std::deque<std::string> decoded_;   ///< texts that do not stand in a document as they are
  std::size_t cells_ = 0;
  std::size_t row_cells_ = 0;
  std::uint64_t dropped_ = 0;  ///< in the value that is written
};

}  // namespace octavo::analytics
