#pragma once

#include <string>
#include <string_view>

#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

/// The text of an expression or query in one canonical form: every operator in parentheses, keywords in capitals,
/// strings in double quotes, clauses on lines of their own. Parsing it gives the same tree.
std::string text_of(const Expression& expression);
std::string text_of(const Query& query);

/// Whether two expressions are the same, regardless of parentheses and of the spelling of properties (`.name`,
/// `["name"]`), names of built-in functions (in any case), numbers and strings. Subqueries are compared by their texts.
bool is_same(const Expression& a, const Expression& b);

/// Append parts of the text, for texts that are put together.
void append_text(std::string& out, const Expression& expression);
void append_from_text(std::string& out, const Query& query);  ///< "\nFROM …", or nothing

/// A number as JavaScript writes it: `1`, `0.1`, `1e+21`.
void append_number_text(std::string& out, double number);
/// `.name`, or `["name"]` if the name is not an identifier.
void append_property_text(std::string& out, std::string_view name, bool quoted);

/// Whether `name` can be used unquoted where a name is expected.
bool is_plain_name(std::string_view name);

}  // namespace octavo::query::sql
