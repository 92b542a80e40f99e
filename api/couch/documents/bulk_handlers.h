#pragma once

#include "api/couch/call/call.h"

/// Handlers for many documents at once that are implemented in their own files.
namespace octavo::api::couch {

Task<Expected<Reply>> bulk_get(Call& call);      // bulk_get.cpp: POST /{db}/_bulk_get
Task<Expected<Reply>> revs_diff(Call& call);     // revision_requests.cpp: POST /{db}/_revs_diff
Task<Expected<Reply>> missing_revs(Call& call);  // POST /{db}/_missing_revs
Task<Expected<Reply>> purge(Call& call);         // POST /{db}/_purge

void add_bulk_routes(
    RouteList& routes);  ///< bulk.cpp: _bulk_docs, _bulk_get, _batch, _revs_diff, _missing_revs, _purge

}  // namespace octavo::api::couch
