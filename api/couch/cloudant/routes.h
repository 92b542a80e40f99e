#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_cloudant_routes(RouteList& routes);  ///< account.cpp: /_api/v2

}  // namespace octavo::api::couch
