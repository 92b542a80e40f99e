#pragma once

#include <boost/json.hpp>

#include "api/couch/call.h"

namespace octavo::api::couch {

/// Bodies from this size on are parsed on a worker: about 0.3 ms of an I/O thread.
inline constexpr std::size_t worker_body_bytes = 128 * 1024;

/// The body of a request as a JSON object; large ones are parsed on a worker.
/// Errors: bad_request "invalid UTF-8 JSON…", "Request body must be a JSON object".
Task<Expected<boost::json::object>> read_json_object(const Call& call);

}  // namespace octavo::api::couch
