#include "api/couch/queries/dry_run.h"

#include "api/couch/call/json_reply.h"

namespace octavo::api::couch {

Reply dry_run_reply(boost::json::object reply, const query::ChargeEstimate& estimate) {
  reply["dry_run"] = true;
  reply["estimate"] = estimate.to_json();
  auto shown = json_reply(reply);
  shown.headers.emplace_back("Preference-Applied", "dry-run");
  return shown;
}

}  // namespace octavo::api::couch
