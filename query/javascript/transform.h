#pragma once

#include <string>
#include <string_view>

#include "query/javascript/program.h"

/// Transforms are functions that make rows of a document, again whenever the rows are needed. Their programs have the
/// kind `transform` and one function. Clocks and random numbers throw an exception there. As in functions.h, they run
/// on the calling thread, which must be a worker, within the limits.
namespace octavo::query::javascript {

/// Calls `function (doc, joined)`. Both are JSON texts, and so is the result: an array of what was returned, at most
/// 100 objects. Errors: function_failed: an exception, or something else was returned; function_stopped: an exceeded
/// limit, also of the depth of calls.
Expected<std::string> transform(const ProgramPtr& program, std::string_view document, std::string_view joined);

/// Compiles a transform on this thread, to report errors before its first run. Error bad_request: JavaScript's message
/// and the line.
Expected<void> check_transform(std::string_view source);

}  // namespace octavo::query::javascript
