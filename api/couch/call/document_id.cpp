#include "api/couch/call/document_id.h"

#include <simdjson.h>

#include "partitioning/keys/partition_key.h"

namespace octavo::api::couch {

Expected<void> check_id(std::string_view id, const partitioning::Database& database) {
  if (!simdjson::validate_utf8(id.data(), id.size())) {
    return fail(ErrorCode::bad_request, "Document id must be valid UTF-8", "illegal_docid");
  }
  return partitioning::check_document_id(id, database.partitioned());
}

}  // namespace octavo::api::couch
