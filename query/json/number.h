#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace octavo::query {

/// The finite double nearest to a JSON number, as used wherever numbers are compared: 1e400 is the largest double.
double nearest_double(std::string_view token);

/// The value of a JSON number that is whole, in any spelling (`5`, `5.0`, `50e-1`), clamped to 64 bits; nullopt:
/// another value.
std::optional<std::int64_t> whole_number(std::string_view json);

}  // namespace octavo::query
