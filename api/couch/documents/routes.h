#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

void add_document_routes(RouteList& routes);  ///< document.cpp: /{db}/{docid}, _design, _local
void add_bulk_routes(RouteList& routes);      ///< bulk.cpp: _bulk_docs, _bulk_get, _batch, _revs_diff, _missing_revs

}  // namespace octavo::api::couch
