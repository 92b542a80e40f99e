#pragma once

#include <string_view>

namespace octavo::query::javascript {

/// Logs what a design function passed to `log()`, or an exception it threw, as one line. The number of lines per second
/// is limited for the whole process; a separate line reports how many were left out.
void log_from_function(std::string_view function, std::string_view message);

}  // namespace octavo::query::javascript
