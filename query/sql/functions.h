#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "query/sql/evaluation.h"

namespace octavo::query::sql {

/// A built-in function. With an undefined argument it gives undefined without being called, unless `takes_undefined`.
struct Function {
  std::string_view name;  ///< in capitals
  std::uint8_t arguments_min;
  std::uint8_t arguments_max;
  Value (*call)(Evaluation& evaluation, std::span<const Value> arguments);
  bool takes_undefined = false;
};
inline constexpr std::uint8_t any_number = 255;

/// By its name, whose case does not matter; null: there is none.
const Function* find_function(std::string_view name);

// Each subject's file offers its functions.
std::span<const Function> array_functions();
std::span<const Function> date_functions();
std::span<const Function> math_functions();
std::span<const Function> spatial_functions();
std::span<const Function> string_functions();
std::span<const Function> type_functions();

/// A LIKE pattern: `%` any characters, `_` one, `[abc]`, `[a-f]`, `[^abc]` one of a set or none of it.
/// Counts its retries as steps, and what it reads as work.
bool is_like(Evaluation& evaluation, std::string_view text, std::string_view pattern, std::string_view escape);

}  // namespace octavo::query::sql
