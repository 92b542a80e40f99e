#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/json/field_path.h"
#include "query/sql/row_shape.h"

namespace octavo::query::sql {

/// Whether an index and SQL see the same numbers as equal to this one: beyond 2^53 an index tells apart what is equal
/// here.
bool is_exact(double number);

/// Of which of the documents that an index or a selector names a condition holds without being evaluated.
enum class WhereHolds : std::uint8_t {
  unknown,           ///< it must be evaluated
  of_plain_strings,  ///< those with plain strings (plain_strings.h): of others may be equal by language what differs
  of_all
};

/// Of which of the documents that an index or a selector names by these equalities all of them hold.
WhereHolds equality_of(std::span<const FixedProperty> fixed, const RowShape& shape);

/// A stored property with the text that makes it equal to a constant of the query.
struct EqualText {
  FieldPath field;
  std::string json;
};

/// The texts by which a document is known to have these properties, each equal to its one constant, without reading
/// values: stored JSON is minified and has one spelling for most values. Empty where one of them cannot be told so.
std::vector<EqualText> equal_texts_of(std::span<const FixedProperty> fixed, const RowShape& shape);

/// Whether the stored document has all of these texts. If not, its properties may be equal all the same.
bool has_texts(std::string_view body, std::span<const EqualText> texts);

}  // namespace octavo::query::sql
