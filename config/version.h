#pragma once

#include <string_view>

namespace octavo::config {

/// The project's version from CMake, e.g. "0.1.0".
std::string_view version();

}  // namespace octavo::config
