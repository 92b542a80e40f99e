#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "analytics/table/type_inference.h"
#include "analytics/table/value_type.h"

namespace octavo::analytics {

/// A property of the documents that has a column.
struct Column {
  std::string name;
  ValueType type;
  std::uint64_t dropped = 0;  ///< values of other types, which became NULL
  std::uint64_t nodes = 1;    ///< it and the members and elements that ever had a type

  bool operator==(const Column&) const = default;
};

/// What decides which columns documents have.
struct SchemaRules {
  std::vector<std::string> include;  ///< names of properties; empty: all
  InferenceMode mode = InferenceMode::well_defined;
  /// Properties whose arrays are the rows of other tables: they have no column.
  std::vector<std::string> flattened = {};
};

/// The columns that the documents' properties of the top level have, in the order in which they came. Their types grow
/// as TypeInference says.
///
/// A property has no column if the columns and what is in them have `nodes_max` types, those that became JSON included,
/// so that documents cannot change the table without end; if its name differs from a column's only in the case of
/// letters, or begins with an underscore, or is no possible name; or by the rules.
///
/// A value: the table's file has the columns, and a schema is made from them.
class Schema {
 public:
  /// The property of an element that is no object.
  static constexpr std::string_view element_property = "value";
  static constexpr std::size_t nodes_max = 1'000;

  /// `columns`: those that there are already.
  explicit Schema(SchemaRules rules = {}, std::vector<Column> columns = {});

  const std::vector<Column>& columns() const { return columns_; }
  const SchemaRules& rules() const { return rules_; }
  /// Takes notice of the properties of a document, an object as normalize_document() leaves it.
  void learn(std::string_view document);
  /// Takes notice of an element of an array, and reads it: of an object's properties; else it is the property `value`.
  void learn_element(query::JsonCursor& cursor);
  /// The column of a property, which is looked for at `expected` first; nullopt: it has none.
  std::optional<std::size_t> find(std::string_view name, std::size_t expected = 0) const;
  /// The elements of the property's arrays are in another table.
  bool is_flattened(std::string_view name) const;
  /// Properties without a column are kept together.
  bool keeps_rest() const { return rules_.include.empty(); }
  void count_dropped(std::size_t column, std::uint64_t count = 1) { columns_[column].dropped += count; }

 private:
  bool may_have_column(std::string_view name) const;
  void learn_object(query::JsonCursor& cursor);
  void learn_property(std::string_view name, query::JsonCursor& cursor, std::size_t& expected);
  std::optional<std::size_t> add(std::string_view name);

  SchemaRules rules_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, std::size_t> by_folded_name_;  ///< in small letters
  std::size_t nodes_ = 0;
};

}  // namespace octavo::analytics
