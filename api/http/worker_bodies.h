#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/task.h"

namespace octavo::api {

/// Bodies of requests and replies from this size on are parsed and rendered by workers. On a connection's thread they
/// would delay all its other connections, by milliseconds per megabyte.
inline constexpr std::size_t worker_body_bytes = 128 * 1024;

/// Returns `work()`, which parses the request's body. Bodies from `large_bytes` on are parsed on a worker.
template <class Call, class Work>
Task<std::invoke_result_t<Work&>> work_on_body(const Call& call, Work work,
                                               std::size_t large_bytes = worker_body_bytes) {
  if (call.request.body.size() < large_bytes) co_return work();
  co_return co_await call.services.engine.workers().run_patiently(std::move(work));
}

/// Limit for bodies that define a resource and are not documents: these are parsed on the I/O thread.
inline constexpr std::size_t definition_body_bytes_max = 1024 * 1024;

}  // namespace octavo::api
