#include "api/http/caught_error.h"

#include <new>

#include "base/read_failure.h"

namespace octavo::api {

Error caught_error() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    // The memory of the request is free again.
    return {ErrorCode::overloaded, "The server is short of memory; try again later.", {}};
  } catch (const ReadFailure& failure) {
    return failure.error();
  }
}

}  // namespace octavo::api
