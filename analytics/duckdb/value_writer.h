#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analytics/duckdb/duckdb_api.h"
#include "base/error.h"

namespace octavo::analytics::duckdb {

/// Writes the values of one column of a result as JSON or as CSV.
///
/// Numbers of any size are JSON numbers with all their digits, NaN and infinity are null. Dates and times are texts in
/// the form of ISO 8601, UUIDs texts, BLOBs base64. Values of the type JSON stand in JSON as they are. Lists, arrays
/// and structs are arrays and objects, a map is an array of objects with `key` and `value`.
class ValueWriter {
 public:
  /// Error unsupported: there is no form for the type; the caller names the column.
  static Expected<ValueWriter> create(const Api& api, TypeHandle type);

  void append_json(std::string& out, VectorHandle vector, Index row) const;
  /// The cell of a CSV file (RFC 4180): NULL is empty, an empty text is `""`, nested values are JSON.
  void append_csv(std::string& out, VectorHandle vector, Index row) const;

 private:
  explicit ValueWriter(const Api& api) : api_(&api) {}
  void append_value(std::string& out, const void* data, VectorHandle vector, Index row) const;
  void append_children(std::string& out, VectorHandle vector, Index first, Index count) const;
  bool is_text() const;

  const Api* api_;
  Type type_ = Type::null;
  Type internal_type_ = Type::null;  ///< of a decimal, an enumeration
  std::uint8_t scale_ = 0;           ///< of a decimal
  bool is_json_ = false;
  Index array_size_ = 0;
  std::vector<std::string> names_;  ///< of the fields of a struct; the values of an enumeration
  std::vector<ValueWriter> children_;
};

}  // namespace octavo::analytics::duckdb
