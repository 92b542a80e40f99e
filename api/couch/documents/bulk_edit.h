#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
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
  std::map<std::size_t, Error> refused;   ///< why documents could not be parsed, by position; they have only an id
  bool new_edits = true;
};

/// With more documents than this, the work on each is done on a worker. This many take about a millisecond of an I/O
/// thread.
inline constexpr std::size_t inline_documents_max = 1000;

/// Reads `{"docs":[…],"new_edits":…}` without building a JSON tree; large bodies are read on a worker.
/// A document with an error of parse_document affects only its own row. Errors of the whole request, with CouchDB's
/// texts: bad_request, also for a document that is no JSON object or whose id is no string; too_large.
Task<Expected<BulkRequest>> parse_bulk_request(const Call& call);

/// A document's outcome: its new revision, the edit number of a local document, or why it was not written.
using BulkOutcome = std::variant<storage::Revision, std::uint64_t, Error>;

struct BulkResult {
  std::string id;
  std::optional<storage::Revision> sent;  ///< the revision of a replicated document
  BulkOutcome outcome;
};

/// Writes all documents independently of each other; returns the results in order, those of refused documents among
/// them. Documents without an id get one.
Task<Expected<std::vector<BulkResult>>> write_each(Call& call, BulkRequest request);

/// `{"ok":true,"id":…,"rev":…}` or `{"id":…,"error":…,"reason":…}`.
void append_bulk_result(std::string& out, const BulkResult& result);

}  // namespace octavo::api::couch
