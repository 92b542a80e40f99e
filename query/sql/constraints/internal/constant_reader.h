#pragma once

#include <cstddef>
#include <optional>

#include <boost/json.hpp>

#include "query/sql/compile/sql_query.h"
#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

/// Reads constants of a query: literals and parameters.
///
/// A condition has copies of its values, and a long parameter may be named many times. Beyond a limit, parameters are
/// read as if they were not constant: every row is tested anyway.
class ConstantReader {
 public:
  /// `query` must outlive this.
  explicit ConstantReader(const SqlQuery& query) : query_(query) {}

  /// The value of `expression`; nullopt if it is not a constant, not a scalar, or undefined.
  std::optional<boost::json::value> read(const Expression& expression);

 private:
  std::optional<boost::json::value> read_parameter(const Expression& expression);

  const SqlQuery& query_;
  std::size_t parameter_bytes_left_ = 4 * 1024 * 1024;
};

}  // namespace octavo::query::sql
