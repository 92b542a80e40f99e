#pragma once

#include <expected>
#include <memory>
#include <string_view>

#include "query/sql/syntax/syntax_tree.h"

namespace octavo::query::sql {

/// Parses a whole query. Locations, also those of errors, are in bytes.
///
/// Operators, in order of precedence: `. []`, then `- + ~ NOT`, `* / %`, `+ -`, `<< >> >>>`, `< <= > >=`, `= != <>`,
/// `&`, `^`, `|`, `||`, then one of `IN`, `LIKE`, `BETWEEN`, then `AND`, `OR`, `??`, `? :`. NOT binds as in Azure
/// Cosmos DB: `NOT a = b` is `(NOT a) = b`.
std::expected<std::unique_ptr<Query>, SqlError> parse_query(std::string_view text);

}  // namespace octavo::query::sql
