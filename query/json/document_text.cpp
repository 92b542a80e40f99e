#include "query/json/document_text.h"

#include "base/json_writer.h"

namespace octavo::query {

void append_revision(std::string& out, const storage::Revision& revision) {
  if (revision.hash.is_digest()) {
    out += '"';
    revision.append_to(out);
    out += '"';
    return;
  }
  append_json_string(out, revision.to_string());
}

void begin_document(std::string& out, std::string_view id, const storage::Revision& revision, std::string_view body) {
  out += "{\"_id\":";
  append_json_string(out, id);
  out += ",\"_rev\":";
  append_revision(out, revision);
  if (body.size() > 2) {
    out += ',';
    out.append(body, 1, body.size() - 2);
  }
}

}  // namespace octavo::query
