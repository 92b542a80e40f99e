#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/json/field_path.h"
#include "query/sql/evaluate/row_shape.h"

namespace octavo::query::sql {

/// Whether an index and SQL agree on which numbers equal this one: beyond 2^53 an index distinguishes numbers that are
/// equal here.
bool is_exact(double number);

/// For which of the documents that an index or a selector finds, a condition holds without being evaluated.
enum class WhereHolds : std::uint8_t {
  unknown,           ///< it must be evaluated
  of_plain_strings,  ///< those with plain strings (plain_strings.h): others may differ and yet collate as equal
  of_all
};

/// For which of the documents that an index or a selector finds by these equalities, all of them hold.
WhereHolds equality_of(std::span<const FixedProperty> fixed, const RowShape& shape);

/// A stored property and the JSON text that makes it equal to a constant of the query.
struct ExactMatch {
  FieldPath field;
  std::string json;
};

/// The texts that show, without reading values, that a document has these properties, each equal to its one constant:
/// stored JSON is minified and has one spelling for most values. Empty if one of the properties has no such text.
std::vector<ExactMatch> exact_matches_of(std::span<const FixedProperty> fixed, const RowShape& shape);

/// Whether the stored document has all of these texts. If not, its properties may still be equal.
bool has_exact_matches(std::string_view body, std::span<const ExactMatch> texts);

}  // namespace octavo::query::sql
