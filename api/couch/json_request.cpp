#include "api/couch/json_request.h"

#include "api/couch/query_parameters.h"
#include "api/http/worker_bodies.h"

namespace octavo::api::couch {

Task<Expected<boost::json::object>> read_json_object(const Call& call) {
  const auto& request = call.request;
  if (request.body.size() < worker_body_bytes) co_return json_object_body(request);
  auto work = [&request] { return json_object_body(request); };
  co_return co_await call.services.engine.run_blocking(std::move(work));
}

}  // namespace octavo::api::couch
