#pragma once

#include <cstddef>

namespace octavo::api {

/// Bodies of requests and replies from this size on are parsed and made by workers: on a connection's thread all others
/// of the thread would wait, milliseconds for each megabyte.
inline constexpr std::size_t worker_body_bytes = 128 * 1024;

}  // namespace octavo::api
