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

}  // namespace octavo::query::sql
