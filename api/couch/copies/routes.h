#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_copy_routes(RouteList& routes);  ///< copy.cpp: /{db}/_copy

}  // namespace octavo::api::couch
