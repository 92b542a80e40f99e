#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"

namespace octavo::api::cosmos::hybrid_row {

/// HybridRow: Microsoft's binary format for rows with a schema. The .NET client sends the operations of a batch in it,
/// and reads the results from it. Reader and writer know flat rows: values of the types below, no nested ones.
///
/// Format (HybridRow row):
///   row      := 0x81 schema:u32 presence fixed* variable* sparse*
///   presence := u8*                     one bit for each nullable column that is fixed or variable, in the order of
///                                       the schema from the lowest bit on; set: the row has the column
///   fixed    := i32 | u32               every fixed column; zero if the row lacks it
///   variable := sized                   the variable columns that the row has
///   sparse   := type:u8 path value      in any order; a reader ignores names that the schema does not know
///   path     := varint                  1 to n: that column of the schema, which has n; 0: no name
///             | length:varint name      a name of length - n - 1 bytes
///   value    := ""                      types 1 null, 2 false, 3 true
///             | i32 | u32 | f64         types 7, 11 and 16
///             | sized                   types 20 text (UTF-8) and 21 bytes
///             | …                       other types: a fixed number of bytes, or a varint; from 30 on nested, refused
enum class ColumnType : std::uint8_t { boolean, int32, uint32, float64, text, bytes };
enum class Storage : std::uint8_t { fixed, variable, sparse };

struct Column {
  std::string_view name;
  ColumnType type;
  Storage storage;
  bool nullable = true;
};

/// At most eight columns may be nullable and not sparse, and fixed columns have four bytes.
struct Schema {
  std::uint32_t id;
  std::span<const Column> columns;
};

/// monostate: absent. Texts and bytes refer to what was read.
using Value = std::variant<std::monostate, bool, std::int32_t, std::uint32_t, double, std::string_view>;

/// The schema that a row names. Errors: bad_request for anything that does not begin like a row.
Expected<std::uint32_t> schema_of(std::string_view row);

/// Bytes of a row in which no variable and no sparse column is present.
std::size_t smallest_row_bytes(const Schema& schema);

/// The values of a row, one for each column of the schema. O(size of the row); copies no bytes.
/// Errors: bad_request for a row of another schema, a truncated one, a column that comes twice or has another type,
/// text that is not UTF-8, nested values.
Expected<std::vector<Value>> read_row(std::string_view row, const Schema& schema);

/// Appends a row. Precondition: one value for each column, absent or of the column's type.
void append_row(std::string& out, const Schema& schema, std::span<const Value> values);

}  // namespace octavo::api::cosmos::hybrid_row
