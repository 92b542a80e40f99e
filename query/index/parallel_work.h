#pragma once

#include <atomic>
#include <cstddef>

#include <boost/asio/thread_pool.hpp>

#include "storage/error.h"
#include "storage/function_ref.h"

namespace octavo::query {

/// Calls `work(i)` for each i below `count`, on the calling thread and on those of `pool` that have nothing else to do,
/// and returns when all calls have returned. Each thread takes a few numbers at a time, and helpers go to the end of
/// the pool's queue in between, so that a slow piece of work does not keep others from their turn.
///
/// `work` is called by several threads at once. After its first error, or once `stopping` is true, no further call is
/// begun. Errors: the first of `work`; timeout when stopped.
Expected<void> work_in_parallel(boost::asio::thread_pool& pool, std::size_t count, const std::atomic<bool>& stopping,
                                FunctionRef<Expected<void>(std::size_t)> work);

}  // namespace octavo::query
