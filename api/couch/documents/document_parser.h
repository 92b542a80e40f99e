#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "storage/document/document.h"

/// Reads documents as clients send them.
namespace octavo::api::couch {

/// Limit for one document's `_revisions`: the largest `_revs_limit`. Each takes 48 bytes, but may be sent in 4 bytes.
inline constexpr std::size_t revisions_per_document_max = 1'000'000;
/// Limit for all documents of a request. Even the longest request has no room for more revisions of CouchDB's form.
inline constexpr std::size_t revisions_per_request_max = 2'000'000;

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

/// The refusal of a document that a replicator sends: at a document that is forbidden it notes so and continues, at
/// `not_implemented` it stops, or tries again for ever.
Error refusal_of_replica(Error error);

}  // namespace octavo::api::couch
