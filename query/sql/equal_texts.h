#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "query/json/field_path.h"
#include "query/sql/row_shape.h"

namespace octavo::query::sql {

/// Where a property is stored that must be equal to one constant; nullopt: to one of several, or what it is depends on
/// more than the stored body.
std::optional<FieldPath> stored_field(const FixedProperty& property, const RowShape& shape);

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
