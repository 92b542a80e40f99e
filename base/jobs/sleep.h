#pragma once

#include <chrono>

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include "base/task.h"

namespace octavo {

/// Resumes after this time, and keeps no thread meanwhile.
inline Task<void> sleep_for(std::chrono::milliseconds time) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, time);
  co_await timer.async_wait(use_task);
}

}  // namespace octavo
