#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace octavo {

/// The executor of an I/O thread. A concrete type, because a polymorphic executor costs an allocation per hop.
using IoExecutor = boost::asio::io_context::executor_type;

/// A coroutine that runs on one I/O thread. Everything awaited inside resumes on that same thread, so state that is
/// local to a connection needs no lock.
template <class T>
using Task = boost::asio::awaitable<T, IoExecutor>;

/// Completion token for Asio operations inside a Task.
inline constexpr boost::asio::use_awaitable_t<IoExecutor> use_task{};

}  // namespace octavo
