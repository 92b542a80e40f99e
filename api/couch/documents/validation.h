#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/couch/call/call.h"
#include "query/database/index_allowance.h"
#include "query/functions/design_functions.h"
#include "storage/document/document.h"

/// The rules that a database defines itself: the `validate_doc_update` functions of its design documents, which every
/// write of an ordinary document must pass. Also checks design documents themselves.
namespace octavo::api::couch {

/// The functions that writes must pass now; nullptr if there are none, which costs one atomic load.
Expected<std::shared_ptr<const query::Validation>> validation_of(const Call& call);

/// Runs the functions for `writes` on a worker, in slices; returns one result for each, in order. Design documents
/// always pass. Errors of single writes: forbidden and unauthorized with the functions' reasons, function_failed,
/// function_stopped, and conflict: a write whose precondition fails is not validated, so it must not be written.
///
/// The stored revision that the functions see cannot change before the write: a revision that an edit is based on never
/// changes, and if another edit replaces it, the write conflicts.
/// `targets`: as for Database::write.
Task<std::vector<Expected<void>>> validate(Call& call, std::shared_ptr<const query::Validation> validation,
                                           std::span<const partitioning::DocumentTarget> targets,
                                           std::span<const storage::DocumentWrite> writes);

/// Calls validation_of and validate for one write.
Task<Expected<void>> validate_one(Call& call, partitioning::DocumentTarget target, const storage::DocumentWrite& write);

/// Checks whether a design document can be stored: its members must have the right types and its functions must compile
/// (in a replicated one only those of views, as in CouchDB). Runs on a worker. Indexes beyond `allowance` are not
/// created if the document is replicated; otherwise the document is refused. Errors: bad_request invalid_design_doc,
/// compilation_error; forbidden if the allowance is exceeded.
Task<Expected<void>> check_design_document(Call& call, const storage::DocumentWrite& write,
                                           std::optional<query::IndexAllowance>& allowance);

}  // namespace octavo::api::couch
