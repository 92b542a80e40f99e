#pragma once

#include "api/couch/call/call.h"

/// Advice on indexes. An extension of the CouchDB API.
namespace octavo::api::couch {

/// `POST /{db}/_index_advisor`: reads all documents, and says which indexes would save how much, and cost how much, for
/// the recorded queries. Errors: bad_request, conflict (`advisor_running`).
Task<Expected<Reply>> advise_on_indexes(Call& call);

/// `GET /{db}/_index_advisor/verify`: what recorded queries cost without each index and with it.
Task<Expected<Reply>> verify_indexes(Call& call);

/// `POST` of the same: the indexes with this name or these fields. Errors: bad_request, not_found.
Task<Expected<Reply>> verify_index(Call& call);

}  // namespace octavo::api::couch
