#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_changes_routes(RouteList& routes);  ///< changes.cpp: _changes, _partition/{p}/_changes, /_db_updates

}  // namespace octavo::api::couch
