#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

#include "base/task.h"

namespace octavo::api {

/// Bodies of requests and replies from this size on are parsed and made by workers: on a connection's thread all others
/// of the thread would wait, milliseconds for each megabyte.
inline constexpr std::size_t worker_body_bytes = 128 * 1024;

/// What `work` makes of the request's body, of either door's call; from `large_bytes` on it runs on a worker.
template <class Call, class Work>
Task<std::invoke_result_t<Work&>> work_on_body(const Call& call, Work work,
                                               std::size_t large_bytes = worker_body_bytes) {
  if (call.request.body.size() < large_bytes) co_return work();
  co_return co_await call.services.engine.run_patiently(std::move(work));
}

/// Of requests that are no documents but a few words about a resource: these are parsed where they arrive.
inline constexpr std::size_t definition_body_bytes_max = 1024 * 1024;

}  // namespace octavo::api
