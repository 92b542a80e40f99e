#pragma once

#include "api/couch/call/call.h"

/// Advice on partition keys and indexes. An extension of the CouchDB API.
namespace octavo::api::couch {

void add_partition_advisor_routes(RouteList& routes);  ///< partition_advisor.cpp: /{db}/_partition_advisor
void add_index_advisor_routes(RouteList& routes);      ///< index_advisor.cpp: /{db}/_index_advisor, …/verify

}  // namespace octavo::api::couch
