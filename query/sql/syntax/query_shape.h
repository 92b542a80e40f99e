#pragma once

#include <span>
#include <string>

#include "query/sql/syntax/lexer.h"

namespace octavo::query::sql {

/// The text of a query without its literals, parameters and comments, with keywords in capitals and single blanks:
/// `SELECT * FROM c WHERE c.year = ? AND c.model IN (?)`. Queries that differ in these only have one shape. Linear.
std::string shape_of(std::span<const Token> tokens);

}  // namespace octavo::query::sql
