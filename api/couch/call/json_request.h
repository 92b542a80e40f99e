#pragma once

#include <boost/json.hpp>

#include "api/couch/call/call.h"
#include "api/http/worker_bodies.h"

namespace octavo::api::couch {

/// The body of a request as a JSON object; large ones are parsed on a worker.
/// Errors: bad_request "invalid UTF-8 JSON…", "Request body must be a JSON object".
Task<Expected<boost::json::object>> read_json_object(const Call& call);

}  // namespace octavo::api::couch
