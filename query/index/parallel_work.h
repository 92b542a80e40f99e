#pragma once

#include <atomic>
#include <cstddef>

#include <boost/asio/thread_pool.hpp>

#include "base/error.h"
#include "base/function_ref.h"

namespace octavo::query {

/// Calls `work(i)` for each i below `count`, on the calling thread and, if there is a `pool`, on those of its threads
/// that have nothing else to do, and returns when all calls have returned. Each thread takes a few numbers at a time,
/// fewer when they are slow, and helpers go to the end of the pool's queue in between, so that a slow piece of work
/// does not keep others from their turn.
///
/// `work` is called by several threads at once. After its first error, once `stopping` is true, or after the first call
/// once `enough` says so, no further call is begun; functions that it runs are stopped with it. Returns how many were
/// called: all numbers below. Errors: the first of `work`; timeout when stopped.
Expected<std::size_t> work_in_parallel(
    boost::asio::thread_pool* pool, std::size_t count, const std::atomic<bool>& stopping,
    FunctionRef<Expected<void>(std::size_t)> work, FunctionRef<bool()> enough = [] { return false; });

}  // namespace octavo::query
