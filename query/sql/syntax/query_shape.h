#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/sql/syntax/lexer.h"

namespace octavo::query::sql {

/// The text of a query without its literals, parameters and comments, with keywords in capitals and single blanks:
/// `SELECT * FROM c WHERE c.year = ? AND c.model IN (?)`. Queries that differ in these only have one shape. Linear.
std::string shape_of(std::span<const Token> tokens);

/// A text whose parameters are numbered in the order of their first use, `c.year = @0`, and their names in this order.
struct NumberedParameters {
  std::string text;
  std::vector<std::string> names;
};

/// `text` must be a query that has been parsed. Linear in the text, times the logarithm of the number of parameters.
NumberedParameters number_parameters(std::string_view text);

}  // namespace octavo::query::sql
