#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "query/sql/evaluate/program.h"
#include "query/sql/evaluate/row_shape.h"
#include "query/sql/run/internal/combinations.h"

namespace octavo::query::sql {

/// Makes the key of a row that waits to be sorted: the values of ORDER BY, then what decides between rows that ORDER BY
/// considers equal. The latest key counts.
class RowKey {
 public:
  /// All must outlive this.
  RowKey(const Program& program, const RowShape& shape, Evaluation& evaluation, const Combinations& combinations);

  /// Makes the values of ORDER BY of the bound row. False: the evaluation failed.
  bool make_order();
  /// The same, with ties decided by document (for distinct results: by value), then by combination.
  bool make();
  /// Makes the key of a document whose values of ORDER BY are known, without a combination.
  void make_of(std::string_view order, std::string_view document_id);

  const std::string& text() const { return text_; }
  /// The values of ORDER BY alone.
  std::string_view order() const { return std::string_view(text_).substr(0, order_bytes_); }
  std::size_t order_bytes() const { return order_bytes_; }
  /// Whether none of these values is an array or an object.
  bool has_scalars() const { return has_scalars_; }

 private:
  void append_tie(std::string_view document_id);

  const Program& program_;
  const RowShape& shape_;
  Evaluation& evaluation_;
  const Combinations& combinations_;
  std::string text_;
  std::size_t order_bytes_ = 0;
  bool has_scalars_ = false;
  bool is_descending_;  ///< at least one of ORDER BY is
};

}  // namespace octavo::query::sql
