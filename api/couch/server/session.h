#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// Adds a new AuthSession cookie to `reply` if the request has one that is past half its lifetime, unless the reply
/// already sets that cookie (log-in, log-out). Called after each handler.
void renew_session(const Services& services, const Request& request, const UserContext& user, Reply& reply);

void add_session_routes(RouteList& routes);  ///< /_session

}  // namespace octavo::api::couch
