#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/couch/call.h"
#include "api/couch/edit.h"

/// Requests with many edits, from their bytes to one outcome per document: what `_bulk_docs` and `_batch` share.
namespace octavo::api::couch {

/// The body of such a request, its documents taken apart.
struct BulkRequest {
  std::vector<ParsedDocument> documents;  ///< in the order sent; ids not yet checked
  bool new_edits = true;
};

/// Beyond this, the work on each document is done on a worker: about a millisecond of an I/O thread.
inline constexpr std::size_t inline_documents_max = 1000;

/// Reads `{"docs":[…],"new_edits":…}` without building a tree of it; large bodies are read on a worker.
/// Errors, with CouchDB's texts: bad_request, and those of parse_document: one bad document refuses all.
Task<Expected<BulkRequest>> parse_bulk_request(const Call& call);

/// A document's outcome: its new revision, the edit number of a local document, or why it was not written.
using BulkOutcome = std::variant<storage::Revision, std::uint64_t, Error>;

struct BulkResult {
  std::string id;
  std::optional<storage::Revision> sent;  ///< the revision of a replicated document
  BulkOutcome outcome;
};

/// Writes all documents, each on its own; results in order. `new_edits` documents are ready to write: they have ids.
Task<Expected<std::vector<BulkResult>>> write_each(Call& call, BulkRequest request);

/// `{"ok":true,"id":…,"rev":…}` or `{"id":…,"error":…,"reason":…}`.
void append_bulk_result(std::string& out, const BulkResult& result);

}  // namespace octavo::api::couch
