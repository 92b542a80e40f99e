#pragma once

#include "api/couch/call.h"

namespace octavo::api::couch {

/// Adds a fresh AuthSession cookie to `reply` when the request came with one that is past half its life, and the reply
/// does not set that cookie itself (log-in, log-out). For the door, after each handler.
void renew_session(const Services& services, const Request& request, const UserContext& user, Reply& reply);

}  // namespace octavo::api::couch
