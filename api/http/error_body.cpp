#include "api/http/error_body.h"

#include <simdjson.h>

#include "base/json_writer.h"

namespace octavo::api {

void append_error_text(std::string& out, std::string_view text) {
  if (simdjson::validate_utf8(text.data(), text.size())) return append_json_string(out, text);
  std::string ascii(text);
  for (auto& c : ascii) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  append_json_string(out, ascii);
}

Reply error_body(int status, ErrorMember word, ErrorMember reason) {
  Reply reply;
  reply.status = status;
  reply.body = "{\"";
  reply.body.append(word.name).append("\":");
  append_error_text(reply.body, word.text);
  reply.body.append(",\"").append(reason.name).append("\":");
  append_error_text(reply.body, reason.text);
  reply.body += '}';
  return reply;
}

}  // namespace octavo::api
