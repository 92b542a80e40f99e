#pragma once

#include <vector>

#include "query/sql/constraints/internal/constant_reader.h"
#include "query/sql/constraints/internal/stored_paths.h"
#include "query/sql/evaluate/row_shape.h"

namespace octavo::query::sql {

/// The conjuncts `path = constant` and `path IN (constants)` of a condition, by the property's path in the row.
struct FixedConjuncts {
  std::vector<FixedProperty> properties;
  bool are_all = true;  ///< the condition has no other conjuncts
};

FixedConjuncts fixed_conjuncts(const Expression& where, const ItemPaths& paths, ConstantReader& constants);

}  // namespace octavo::query::sql
