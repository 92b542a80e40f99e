#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/couch/call/call.h"
#include "api/couch/documents/document_parser.h"
#include "query/database/index_allowance.h"
#include "storage/document/document.h"

/// Converts parsed documents to edits of the engine, and writes them. All writing endpoints share this.
namespace octavo::api::couch {

/// The revision that an edit is based on. `_rev`, the parameter `rev` and the header `If-Match` must agree if given.
/// Errors: bad_request.
Expected<std::optional<storage::Revision>> base_revision(const Request& request,
                                                         const std::optional<storage::Revision>& from_body);

/// The engine's edit. Error bad_request if `new_edits` is false and the document has no revision.
Expected<storage::DocumentWrite> make_write(std::string id, ParsedDocument document, bool new_edits);

/// The checks and changes before a document may be written: only admins of the database may write design documents,
/// which must not define more indexes than the database can have; `_users` has its own rules, and passwords are hashed;
/// `_replicator` takes no replications, because the server would not carry them out.
/// Does nothing, and does not suspend, for ordinary documents. `allowance` belongs to the whole request and is empty
/// before its first write.
Task<Expected<void>> prepare_write(Call& call, storage::DocumentWrite& write,
                                   std::optional<query::IndexAllowance>& allowance);
/// Whether prepare_write has anything to do for this document.
bool needs_preparation(const Call& call, std::string_view id);

/// Prepares and writes one document; durable when it returns. `target` is that of the write, whose id it must not refer
/// to.
Task<Expected<storage::Revision>> save(Call& call, partitioning::DocumentTarget target, storage::DocumentWrite write);
/// The error of a write with CouchDB's text.
Error in_couch_words(Error error, std::string_view id);
/// Counts a written document in the server's statistics.
void count_write(const Call& call, const storage::WrittenDocument& written);
/// Must be called for each document of `_users` that was written.
void forget_user(Call& call, std::string_view id);

}  // namespace octavo::api::couch
