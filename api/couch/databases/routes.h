#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_database_routes(RouteList& routes);     ///< database.cpp: /{db}, /{db}/_partition/{p}, _revs_limit, _purge, …
void add_properties_routes(RouteList& routes);   ///< properties.cpp: /{db}/_properties
void add_name_routes(RouteList& routes);         ///< names.cpp: /{db}/_rename, /{db}/_aliases
void add_cosmos_name_routes(RouteList& routes);  ///< cosmos_names.cpp: /_cosmos/{database}/_rename, …/_aliases
void add_reshard_routes(RouteList& routes);      ///< reshard.cpp: /_reshard

}  // namespace octavo::api::couch
