#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "query/json/split.h"

namespace octavo::analytics {

enum class ColumnType : std::uint8_t { boolean, integer, number, text, json };

/// Its name in DuckDB: BOOLEAN, BIGINT, DOUBLE, VARCHAR, JSON.
std::string_view sql_name(ColumnType type);
/// The type with this name; nullopt: none.
std::optional<ColumnType> column_type_of(std::string_view sql_name);
/// The type of a JSON value; nullopt: null, which has none. Integers beyond 64 bits are numbers.
std::optional<ColumnType> type_of_json(std::string_view raw);

/// A property of the documents that has a column.
struct Column {
  std::string name;
  ColumnType type = ColumnType::text;
  std::uint64_t dropped = 0;  ///< values of other types, which became NULL

  bool operator==(const Column&) const = default;
};

/// What has to be done to the table before documents fit.
struct SchemaChange {
  enum class Kind : std::uint8_t { add, widen };
  Kind kind = Kind::add;
  std::size_t column = 0;

  bool operator==(const SchemaChange&) const = default;
};

/// The columns that the documents' properties of the top level have, in the order in which they came: mode
/// `well_defined`. The first type seen is the column's; a column of integers becomes one of numbers if one comes.
///
/// A property has no column if there are `columns_max`, if its name differs from a column's only in the case of letters
/// (DuckDB's names have none), begins with an underscore, is empty, longer than `name_bytes_max` or has a zero byte; or
/// if `include` is given and does not have it.
///
/// A value: the table's file has the columns, and a schema is made from them.
class Schema {
 public:
  static constexpr std::size_t columns_max = 1'000;
  static constexpr std::size_t name_bytes_max = 256;

  /// `include`: names of properties, empty: all. `columns`: those that there are already.
  explicit Schema(std::vector<std::string> include = {}, std::vector<Column> columns = {});

  const std::vector<Column>& columns() const { return columns_; }
  const std::vector<std::string>& include() const { return include_; }
  /// Takes notice of the properties of a document.
  void learn(const std::vector<query::JsonMember>& members);
  /// What learn() has changed since the last call.
  std::vector<SchemaChange> take_changes();
  /// The column of a property; nullopt: it has none.
  std::optional<std::size_t> find(std::string_view name) const;
  /// Properties without a column are kept together.
  bool keeps_rest() const { return include_.empty(); }
  void count_dropped(std::size_t column) { ++columns_[column].dropped; }

 private:
  bool may_have_column(std::string_view name) const;

  std::vector<std::string> include_;
  std::vector<Column> columns_;
  std::vector<SchemaChange> changes_;
  std::unordered_map<std::string, std::size_t> by_folded_name_;  ///< in small letters
};

}  // namespace octavo::analytics
