#pragma once

#include "api/couch/call/call.h"
#include "api/couch/call/router.h"
#include "api/http/cors.h"
#include "api/http/handler.h"
#include "config/live_settings.h"

namespace octavo::api::couch {

/// The CouchDB API: answers every HTTP request to it.
///
/// The steps of a request are: CORS preflight → authentication → route → database → access check → the route's handler
/// → headers of every reply. Errors are returned as values and rendered in one place.
///
/// Thread-safe: it has no state of its own. A request sees the settings that are in effect when it begins; `settings`
/// of `services` does not matter. The objects that `services` refers to must outlive this.
class CouchApi final : public Handler {
 public:
  explicit CouchApi(Services services);

  Task<Reply> handle(Request& request) override;
  Reply protocol_error(int status, std::string_view reason) const override;

 private:
  Task<Expected<Reply>> dispatch(Call& call);
  /// The reply to a request that has no route. Those who may not see the database, or the server's paths, learn
  /// nothing.
  Task<Expected<Reply>> refuse(const Call& call, Router::Match match);
  Task<Expected<std::shared_ptr<partitioning::Database>>> open(const std::string& name);
  bool host_may_ask(const Call& call) const;
  void finish(const Call& call, Reply& reply) const;
  const CorsPolicy& cors(const config::Settings& settings) const;

  Services services_;
  Router router_;
  config::MadeFromSettings<CorsPolicy> cors_;
};

/// All routes of this API.
RouteList all_routes();

}  // namespace octavo::api::couch
