#pragma once

#include <optional>

#include "query/selector/selector.h"
#include "query/sql/constraints/internal/constant_reader.h"
#include "query/sql/constraints/internal/stored_paths.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

/// Translates conditions of WHERE to conditions of a selector that hold wherever they are true.
class WhereTranslator {
 public:
  /// `order`: that of strings in the indexes, `collation` or `ordinal`. `paths` and `constants` must outlive this.
  WhereTranslator(const StoredPaths& paths, ConstantReader& constants, BoundOrder order)
      : paths_(paths), constants_(constants), order_(order) {}

  /// nullopt: the documents that match cannot be narrowed down.
  std::optional<SelectorNode> translate(const Expression& expression);

 private:
  std::optional<SelectorNode> compare(const Expression& path, SqlOperator op, const Expression& constant);
  std::optional<SelectorNode> translate_conjunction(const Expression& expression);
  std::optional<SelectorNode> translate_disjunction(const Expression& expression);
  std::optional<SelectorNode> translate_comparison(const Expression& expression);
  std::optional<SelectorNode> translate_in(const Expression& expression);
  std::optional<SelectorNode> translate_between(const Expression& expression);
  std::optional<SelectorNode> translate_like(const Expression& expression);
  std::optional<SelectorNode> translate_call(const Expression& expression);
  std::optional<SelectorNode> translate_array_contains(const Expression& expression);
  std::optional<SelectorNode> translate_not(const Expression& expression) const;
  std::optional<SelectorNode> translate_property(const Expression& expression) const;

  const StoredPaths& paths_;
  ConstantReader& constants_;
  const BoundOrder order_;
};

}  // namespace octavo::query::sql
