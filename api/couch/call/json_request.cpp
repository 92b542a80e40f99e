#include "api/couch/call/json_request.h"

#include "api/couch/call/query_parameters.h"
#include "api/http/worker_bodies.h"

namespace octavo::api::couch {

Task<Expected<boost::json::object>> read_json_object(const Call& call) {
  const auto parse = [&call] { return json_object_body(call.request); };
  co_return co_await work_on_body(call, parse);
}

}  // namespace octavo::api::couch
