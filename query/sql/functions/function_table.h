#pragma once

#include <span>
#include <string_view>

#include "query/sql/evaluate/function.h"

/// All built-in functions.
namespace octavo::query::sql {

/// Finds a function by its name, regardless of case; null: no function has this name.
const Function* find_function(std::string_view name);

// The functions of each subject, defined in its own file.
std::span<const Function> array_functions();
std::span<const Function> date_functions();
std::span<const Function> math_functions();
std::span<const Function> spatial_functions();
std::span<const Function> string_functions();
std::span<const Function> type_functions();

}  // namespace octavo::query::sql
