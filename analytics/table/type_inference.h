#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "analytics/table/value_type.h"
#include "query/json/json_cursor.h"

namespace octavo::analytics {

/// well_defined: a place of the documents has one type. full_fidelity: it has a STRUCT of the types that came.
enum class InferenceMode : std::uint8_t { well_defined, full_fidelity };
inline constexpr std::string_view well_defined = "well_defined";
inline constexpr std::string_view full_fidelity = "full_fidelity";

/// Lets types grow until the values of documents fit.
///
/// In mode full_fidelity each kind of value is a member of the place's variants, so no value is NULL for its type. In
/// mode well_defined:
/// - The first value that is not null decides the type. An integer becomes a number when one comes.
/// - An object has the members that came, in their order; a list the type of its elements.
/// - Elements of different types make a list of JSON, and so do objects without members and another value. A value of
///   another type elsewhere changes nothing: it will be NULL.
///
/// In both:
/// - An object with a member that it cannot have becomes JSON: one beyond `members_max` or the nodes that are left, or
///   whose name is empty, longer than `name_bytes_max`, has a zero byte, or differs from another's only in the case of
///   letters (DuckDB's names have none). So does an array or object that is more than `depth_max` levels deep.
///
/// Types never shrink, and what is JSON stays it: so a type changes a limited number of times.
class TypeInference {
 public:
  static constexpr std::size_t depth_max = 8;
  static constexpr std::size_t members_max = 100;
  static constexpr std::size_t name_bytes_max = 256;

  /// `nodes_left`: how many members and elements may get a type.
  explicit TypeInference(std::size_t nodes_left, InferenceMode mode = InferenceMode::well_defined)
      : mode_(mode), nodes_left_(nodes_left) {}

  /// Reads the value that comes, and lets `type` grow.
  void learn(query::JsonCursor& cursor, ValueType& type) { learn_place(cursor, type, 0, false); }
  std::size_t nodes_left() const { return nodes_left_; }
  static bool is_possible_name(std::string_view name);

 private:
  void learn_place(query::JsonCursor& cursor, ValueType& type, std::size_t depth, bool is_element);
  void learn_value(query::JsonCursor& cursor, ValueType& type, std::size_t depth, bool is_element);
  void learn_object(query::JsonCursor& cursor, ValueType& type, std::size_t depth);
  void learn_list(query::JsonCursor& cursor, ValueType& type, std::size_t depth);
  bool add_member(ValueType& object, std::string_view name);

  InferenceMode mode_;
  std::size_t nodes_left_;
};

}  // namespace octavo::analytics
