#pragma once

#include <atomic>
#include <cstddef>

#include <boost/asio/thread_pool.hpp>

#include "base/error.h"
#include "base/function_ref.h"

namespace octavo::query {

/// Calls `work(i)` for each i below `count`, on the calling thread and, if there is a `pool`, on its idle threads, and
/// returns when all calls have returned. Each thread takes a few numbers at a time, fewer if they are slow, and helpers
/// go to the end of the pool's queue in between, so that slow work does not delay others.
///
/// `work` is called by several threads at once. No further call begins after its first error, once `stopping` is true,
/// or after the first call once `enough` returns true; functions that it runs are stopped, too. Returns the number of
/// calls: all numbers below it were called. Errors: the first one of `work`; timeout when stopped.
Expected<std::size_t> work_in_parallel(
    boost::asio::thread_pool* pool, std::size_t count, const std::atomic<bool>& stopping,
    FunctionRef<Expected<void>(std::size_t)> work, FunctionRef<bool()> enough = [] { return false; });

}  // namespace octavo::query
