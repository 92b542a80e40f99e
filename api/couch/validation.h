#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "api/couch/call.h"
#include "query/design/design_functions.h"
#include "query/index/index_allowance.h"
#include "storage/document.h"

/// The rules of a database's own making: its design documents' `validate_doc_update` functions, which every write of an
/// ordinary document has to pass, and what design documents themselves have to be.
namespace octavo::api::couch {

/// The functions that documents written now have to pass; nullptr: none, which costs one atomic load.
Expected<std::shared_ptr<const query::Validation>> validation_of(const Call& call);

/// Passes `writes` through the functions on a worker, some at a time; one answer for each, in order. Design documents
/// pass. Errors of single writes: forbidden and unauthorized with the functions' reasons, function_failed, and
/// conflict: a write whose precondition does not hold is not validated, and must therefore not be tried.
///
/// What the functions are shown of the stored document holds until the write or makes it conflict: the revision that an
/// edit is based on never changes.
Task<std::vector<Expected<void>>> validate(Call& call, std::shared_ptr<const query::Validation> validation,
                                           std::span<const storage::DocumentWrite> writes);

/// validation_of and validate for one write.
Task<Expected<void>> validate_one(Call& call, const storage::DocumentWrite& write);

/// Whether a design document can be stored: members of the right types, and functions that compile (of a replicated one
/// only those of views, as in CouchDB). On a worker. What a replicated one defines beyond `allowance` is not made; any
/// other is refused. Errors: bad_request invalid_design_doc, compilation_error; forbidden, of the allowance.
Task<Expected<void>> check_design_document(Call& call, const storage::DocumentWrite& write,
                                           std::optional<query::IndexAllowance>& allowance);

}  // namespace octavo::api::couch
