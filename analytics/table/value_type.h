#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "query/json/json_cursor.h"

namespace octavo::analytics {

/// none: no value but null has come; json: whatever comes is kept as its text; variants: a member for each kind of
/// value that came, of which a value has one.
enum class ValueKind : std::uint8_t { none, boolean, integer, number, text, json, object, list, variants };

/// The type of the values at one place of the documents: of a property, of a member of an object, of the elements of an
/// array.
///
/// Format (types of columns):
///   type    := null | "BOOLEAN" | "BIGINT" | "DOUBLE" | "VARCHAR" | "JSON" | object | list | variants      null: no
///   type yet object  := {name: type, …}                                                              a STRUCT list :=
///   [type]                                                                       a LIST, of this type variants := {"":
///   object}                                            mode full_fidelity: a STRUCT of the types that came
struct ValueType {
  ValueKind kind = ValueKind::none;
  std::vector<std::string> names;   ///< of the members of an object or of variants, in the order in which they came
  std::vector<ValueType> children;  ///< these members; the one of a list's elements

  bool operator==(const ValueType&) const = default;

  static ValueType of(ValueKind kind) { return {.kind = kind, .names = {}, .children = {}}; }
  const ValueType& element() const { return children.front(); }
  /// DuckDB stores it as a text: also what has no type yet, and an object without members, which no STRUCT can be.
  bool is_stored_as_text() const;
  /// It, or something in it, has variants.
  bool has_variants() const;
  /// The member with this name, which is looked for at `expected` first; nullopt: none.
  std::optional<std::size_t> find(std::string_view name, std::size_t expected) const;
};

/// The kind of a JSON value. Integers beyond 64 bits are numbers.
ValueKind kind_of_json(std::string_view raw);

/// The kind of the value that comes.
ValueKind kind_of_next(query::JsonCursor cursor);

/// The name of the variant for values of this kind, as in Azure Synapse Link: `bool`, `int64`, `float64`, `string`,
/// `object`, `array`.
std::string_view variant_name(ValueKind kind);

/// The form under `Format` above. nullopt: there is no such type.
std::string stored_form(const ValueType& type);
std::optional<ValueType> type_of_stored(std::string_view text);

}  // namespace octavo::analytics
