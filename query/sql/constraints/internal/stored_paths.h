#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/json/field_path.h"
#include "query/sql/compile/sql_query.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

/// Whether a step of this name may lead to an element of an array as well as to a property.
bool may_be_position(std::string_view name);

/// A path from the item to one of its properties.
struct ItemPath {
  std::vector<std::string> names;  ///< at least one
  bool has_numbers = false;        ///< some steps may be elements of arrays as well as properties
};

/// Which properties of the item the expressions of a query name.
class ItemPaths {
 public:
  /// `query` must outlive this.
  explicit ItemPaths(const SqlQuery& query);

  /// The name of the item; empty if FROM does not begin with the item as a whole: then no path is known.
  const std::string& root() const { return root_; }
  /// Indexes know what is stored, not what is computed.
  bool is_computed(std::string_view property) const { return query_.computes(property); }
  /// The property that `expression` names; nullopt if it is anything else, or computed.
  std::optional<ItemPath> path_of(const Expression& expression) const;

 private:
  const SqlQuery& query_;
  std::string root_;
};

/// Where the value of an expression is stored: in a field of the document, or in the elements of an array field.
struct StoredPath {
  FieldPath field;
  std::optional<FieldPath> in_elements;  ///< the empty path is the elements themselves
};

/// Where the values of a query's expressions are stored.
class StoredPaths {
 public:
  /// `shape` says where an item's properties are stored. Both must outlive this.
  StoredPaths(const SqlQuery& query, const RowShape& shape);

  const ItemPaths& item_paths() const { return item_paths_; }
  /// The field of the property that `expression` names.
  std::optional<FieldPath> field_of(const Expression& expression) const;
  /// The same, or the path in the elements of an array that an alias of FROM stands for.
  std::optional<StoredPath> stored_path_of(const Expression& expression) const;

 private:
  /// An alias of FROM that stands for the elements of an array of the item, one by one.
  struct ElementAlias {
    std::string name;
    FieldPath array;
  };
  void add_elements(const FromSource& source);

  ItemPaths item_paths_;
  const RowShape& shape_;
  std::vector<ElementAlias> elements_;
};

}  // namespace octavo::query::sql
