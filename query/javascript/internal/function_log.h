#pragma once

#include <string_view>

namespace octavo::query::javascript {

/// A line of the log that a design function caused: what it passed to `log()`, or what it threw. Control characters are
/// made visible. So many lines a second for the whole process; what is left out is counted in a line of its own.
void log_from_function(std::string_view function, std::string_view message);

}  // namespace octavo::query::javascript
