#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/call/call.h"
#include "query/database/index_allowance.h"
#include "storage/document/document.h"

/// Converts documents as clients send them to edits of the engine, and writes them. All writing endpoints share this.
namespace octavo::api::couch {

/// Limit for one document's `_revisions`: the largest `_revs_limit`. Each takes 48 bytes, but may be sent in 4 bytes.
inline constexpr std::size_t kRevisionsMax = 1'000'000;
/// Limit for all documents of a request. Even the longest request has no room for more revisions of CouchDB's form.
inline constexpr std::size_t kRevisionsPerRequestMax = 2'000'000;

/// A document as sent, checked and parsed into its parts.
struct ParsedDocument {
  std::optional<std::string> id;              ///< `_id`
  std::optional<storage::Revision> revision;  ///< `_rev`, or the newest of `_revisions`
  std::vector<storage::Revision> history;     ///< `_revisions`, newest first
  std::optional<std::uint64_t> local_edit;    ///< N of a `_rev` like `0-N`: the revision of a local document
  bool deleted = false;
  std::string body;  ///< as storage::DocumentWrite::body
};

/// Reads one document of at most `body_bytes_max` stored bytes. `json` is untrusted text.
/// Errors, with CouchDB's texts: bad_request (not JSON, "Document must be a JSON object", "Invalid rev format"),
/// illegal_docid, doc_validation ("Bad special document member: _foo"), document_too_large, unsupported (attachments).
Expected<ParsedDocument> parse_document(std::string_view json, std::size_t body_bytes_max);

/// Checks an id by CouchDB's rules for this database. Errors have CouchDB's words.
Expected<void> check_id(std::string_view id, const partitioning::Database& database);

using storage::is_design_id;
using storage::kDesignPrefix;
inline constexpr std::string_view kLocalPrefix = "_local/";
inline bool is_local_id(std::string_view id) {
  return id.starts_with(kLocalPrefix);
}

/// The revision that an edit is based on. `_rev`, the parameter `rev` and the header `If-Match` must agree if given.
/// Errors: bad_request.
Expected<std::optional<storage::Revision>> base_revision(const Request& request,
                                                         const std::optional<storage::Revision>& from_body);

/// The engine's edit. Error bad_request if `new_edits` is false and the document has no revision.
Expected<storage::DocumentWrite> make_write(std::string id, ParsedDocument document, bool new_edits);

/// The checks and changes before a document may be written: only admins of the database may write design documents,
/// which must not define more indexes than the database can have; `_users` has its own rules, and passwords are hashed.
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
/// Must be called for each document of `_users` that was written.
void forget_user(Call& call, std::string_view id);

/// `{"ok":true,"id":…,"rev":…}` without a newline.
void append_saved(std::string& out, std::string_view id, const storage::Revision& revision);
void append_saved_local(std::string& out, std::string_view id, std::uint64_t edit);

}  // namespace octavo::api::couch
