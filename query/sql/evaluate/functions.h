#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "query/sql/evaluate/evaluation.h"

namespace octavo::query::sql {

/// A built-in function. With an undefined argument its result is undefined without a call, unless `takes_undefined`.
struct Function {
  std::string_view name;  ///< in capitals
  std::uint8_t arguments_min;
  std::uint8_t arguments_max;
  Value (*call)(Evaluation& evaluation, std::span<const Value> arguments);
  bool takes_undefined = false;
};
inline constexpr std::uint8_t any_number = 255;

/// Finds a function by its name, regardless of case; null: there is none.
const Function* find_function(std::string_view name);

// The functions of each subject, defined in its own file.
std::span<const Function> array_functions();
std::span<const Function> date_functions();
std::span<const Function> math_functions();
std::span<const Function> spatial_functions();
std::span<const Function> string_functions();
std::span<const Function> type_functions();

/// Whether the text matches a LIKE pattern: `%` any characters, `_` one, `[abc]`, `[a-f]` one of a set, `[^abc]` one
/// outside it. Counts its retries as steps, and what it reads as work.
bool is_like(Evaluation& evaluation, std::string_view text, std::string_view pattern, std::string_view escape);

}  // namespace octavo::query::sql
