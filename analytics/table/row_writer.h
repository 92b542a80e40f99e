#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/table/schema.h"
#include "base/error.h"

namespace octavo::analytics {

/// Takes the values of rows, one column after the other.
class RowSink {
 public:
  virtual ~RowSink() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void integer(std::int64_t value) = 0;
  virtual void number(double value) = 0;
  virtual void text(std::string_view value) = 0;
  virtual void end_row() = 0;
};

/// A document as it becomes a row.
struct RowSource {
  std::string_view id;
  std::string_view revision;
  std::int64_t modified_s = 0;  ///< 0: unknown
  std::vector<query::JsonMember> members;
};

/// Writes the row of a document: `_id`, `_rev`, `_ts`, `_rest` (the properties without a column, as an object; NULL: there
/// are none) and the columns of the schema. A value that is not of its column's type becomes NULL, and is counted.
/// So does one of more than `value_bytes_max`. Numbers that are too large for a double become the nearest one. Precondition: the schema has learnt the document.
class RowWriter {
 public:
  /// Of a value as JSON, and of `_rest`, which is NULL beyond it: larger ones could exceed DuckDB's memory for ever.
  static constexpr std::size_t value_bytes_max = 16ULL << 20;

  explicit RowWriter(Schema& schema) : schema_(schema) {}
  void write(const RowSource& source, RowSink& sink);

 private:
  void write_value(std::size_t column, std::string_view raw, RowSink& sink);

  Schema& schema_;
  std::vector<std::string_view> values_;  ///< by column; empty: none
  std::string rest_;
};

}  // namespace octavo::analytics
