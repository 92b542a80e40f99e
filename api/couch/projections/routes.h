#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_projection_routes(RouteList& routes);  ///< projection.cpp: /{db}/_projection

}  // namespace octavo::api::couch
