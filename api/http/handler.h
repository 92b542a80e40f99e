#pragma once

#include "api/http/reply.h"
#include "api/http/request.h"
#include "base/task.h"

namespace octavo::api {

/// Serves the requests of a listener; one per API. Called on the connection's I/O thread. Many calls run concurrently,
/// also on one thread (they alternate at each co_await). Must not throw: the connection answers an exception with
/// 500 and logs it.
class Handler {
 public:
  virtual ~Handler() = default;
  virtual Task<Reply> handle(Request& request) = 0;
  /// The reply to input that did not become a request: malformed head (400), too large (413, 431), timeout (408),
  /// overload (503). `reason` is for people; the handler renders it in the format of its API.
  virtual Reply protocol_error(int status, std::string_view reason) const = 0;
};

}  // namespace octavo::api
