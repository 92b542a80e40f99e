#pragma once

#include "api/couch/call.h"
#include "api/couch/cors.h"
#include "api/couch/router.h"
#include "api/http/handler.h"

namespace octavo::api::couch {

/// The Couch door: answers every HTTP request of the CouchDB dialect.
///
/// Each request walks: CORS preflight → who is it → which route → which database → may they → the route's handler →
/// headers every reply has. Errors on the way leave as values and are rendered in one place.
///
/// Immutable after construction, so thread-safe. What `services` refers to must outlive the door.
class Door final : public Handler {
 public:
  explicit Door(Services services);

  Task<Reply> handle(Request& request) override;
  Reply protocol_error(int status, std::string_view reason) const override;

 private:
  Task<Expected<Reply>> dispatch(Call& call);
  bool host_may_ask(const Request& request) const;
  void finish(const Call& call, Reply& reply) const;

  Services services_;
  Router router_;
  CorsPolicy cors_;
};

/// All routes of this door.
RouteList all_routes();

}  // namespace octavo::api::couch
