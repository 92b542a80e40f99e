#pragma once

#include <string_view>

namespace octavo::query {

/// The nearest finite double of a JSON number, as everywhere that numbers are compared: 1e400 is the largest one.
double nearest_double(std::string_view token);

}  // namespace octavo::query
