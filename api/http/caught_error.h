#pragma once

#include "base/error.h"

namespace octavo::api {

/// The error for the exception that is being handled: overloaded if memory was short, or that of a ReadFailure. Throws
/// every other exception again. For `catch (...)` around the work on a request.
Error caught_error();

}  // namespace octavo::api
