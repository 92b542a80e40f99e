#pragma once

#include "api/http/reply.h"
#include "api/http/request.h"
#include "base/task.h"

namespace octavo::api {

/// What a listener serves: one per door. Called on the connection's I/O thread; many calls run at once, also on one
/// thread (at each co_await). Must not throw; a thrown exception is answered with 500 by the connection and logged.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<Reply> handle(Request& request) = 0;
  /// The reply to what never became a request: malformed head (400), too large (413, 431), timeout (408), overload
  /// (503). `reason` is for people; the handler renders it in its dialect.
  virtual Reply protocol_error(int status, std::string_view reason) const = 0;
};

}  // namespace octavo::api
