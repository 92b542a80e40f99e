#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_update_routes(RouteList& routes);     ///< update.cpp: _design/{d}/_update/…; refuses _show, _list, _rewrite
void add_procedure_routes(RouteList& routes);  ///< stored_procedure.cpp: _partition/{p}/_sproc/{name}

}  // namespace octavo::api::couch
