#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octavo::query {

/// The nearest finite double of a JSON number, as everywhere that numbers are compared: 1e400 is the largest one.
double nearest_double(std::string_view token);

/// The whole number that a JSON number is, however it is written (`5`, `5.0`, `50e-1`), beyond 64 bits the last one;
/// nullopt: another value.
std::optional<std::int64_t> whole_number(std::string_view json);

}  // namespace octavo::query
