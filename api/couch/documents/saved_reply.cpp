#include "api/couch/documents/saved_reply.h"

#include "api/models/document_renderer.h"
#include "base/json_writer.h"

namespace octavo::api::couch {

void append_saved(std::string& out, std::string_view id, const storage::Revision& revision) {
  out += "{\"ok\":true,\"id\":";
  append_json_string(out, id);
  out += ",\"rev\":";
  append_revision(out, revision);
  out += '}';
}

void append_saved_local(std::string& out, std::string_view id, std::uint64_t edit) {
  out += "{\"ok\":true,\"id\":";
  append_json_string(out, id);
  out += ",\"rev\":\"0-";
  append_json_number(out, edit);
  out += "\"}";
}

}  // namespace octavo::api::couch
