#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_analytics_store_routes(RouteList& routes);   ///< store.cpp: /{db}/_analytics
void add_analytics_sql_routes(RouteList& routes);     ///< sql.cpp: /_analytics/sql
void add_analytics_export_routes(RouteList& routes);  ///< export.cpp: /{db}/_export

}  // namespace octavo::api::couch
