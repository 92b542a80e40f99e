#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/couch/call/call.h"
#include "api/couch/documents/document_parser.h"

/// Requests with many edits, from their bytes to one outcome per document. `_bulk_docs` and `_batch` share this code.
namespace octavo::api::couch {

/// The parsed body of such a request.
struct BulkRequest {
  std::vector<ParsedDocument> documents;  ///< in the order sent; ids not yet checked
  bool new_edits = true;
};

/// With more documents than this, the work on each is done on a worker. This many take about a millisecond of an I/O
/// thread.
inline constexpr std::size_t inline_documents_max = 1000;

/// Reads `{"docs":[…],"new_edits":…}` without building a JSON tree; large bodies are read on a worker.
/// Errors, with CouchDB's texts: bad_request, and those of parse_document: one invalid document refuses the request.
Task<Expected<BulkRequest>> parse_bulk_request(const Call& call);

/// A document's outcome: its new revision, the edit number of a local document, or why it was not written.
using BulkOutcome = std::variant<storage::Revision, std::uint64_t, Error>;

struct BulkResult {
  std::string id;
  std::optional<storage::Revision> sent;  ///< the revision of a replicated document
  BulkOutcome outcome;
};

/// Writes all documents independently of each other; returns the results in order. Documents without an id get one.
Task<Expected<std::vector<BulkResult>>> write_each(Call& call, BulkRequest request);

/// `{"ok":true,"id":…,"rev":…}` or `{"id":…,"error":…,"reason":…}`.
void append_bulk_result(std::string& out, const BulkResult& result);

}  // namespace octavo::api::couch
