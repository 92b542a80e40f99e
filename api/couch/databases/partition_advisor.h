#pragma once

#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// `POST /{db}/_partition_advisor`: reads all documents, and says how well each candidate for a partition key would
/// divide them. An extension of the CouchDB API. Errors: bad_request, conflict (`advisor_running`).
Task<Expected<Reply>> advise_on_partition_key(Call& call);

}  // namespace octavo::api::couch
