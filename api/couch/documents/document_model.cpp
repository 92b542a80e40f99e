#include "api/couch/documents/document_model.h"

#include "api/couch/documents/document_parser.h"
#include "api/couch/server/server.h"
#include "base/json_writer.h"
#include "partitioning/keys/partition_key.h"
#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

constexpr std::string_view self_property = "_self";

// The document without `_self`, which only functions see.
Expected<std::string> without_self(std::string_view json) {
  OCTAVO_TRY(const auto members, query::split_object(json));
  std::string out = "{";
  for (const auto& member : members) {
    if (member.name == self_property) continue;
    if (out.size() > 1) out += ',';
    append_json_string(out, member.name);
    out += ':';
    out += member.raw;
  }
  out += '}';
  return out;
}

}  // namespace

bool PartitionModel::Rows::is_system_property(std::string_view name) const {
  return name == self_property || query::sql::document_rows().is_system_property(name);
}

void PartitionModel::Rows::append_system_property(const storage::DocumentView& document, std::string_view name,
                                                  std::string& out) const {
  if (name == self_property) return append_json_string(out, link + "/docs/" + std::string(document.id));
  query::sql::document_rows().append_system_property(document, name, out);
}

void PartitionModel::Rows::append_row(const storage::DocumentView& document, std::string& out) const {
  query::sql::document_rows().append_row(document, out);
  out.pop_back();
  append_json_key(out, self_property);
  append_system_property(document, self_property, out);
  out += '}';
}

std::optional<query::FieldPath> PartitionModel::Rows::field_path(std::span<const std::string> path) const {
  return query::sql::document_rows().field_path(path);
}

std::string PartitionModel::document_id(std::string_view id) const {
  const std::string prefix = partition_ + ':';
  return id.starts_with(prefix) ? std::string(id) : prefix + std::string(id);
}

Expected<scripts::DocumentModel::Parsed> PartitionModel::parse(std::string_view json, bool makes_id) const {
  OCTAVO_TRY(const std::string plain, without_self(json));
  OCTAVO_TRY(auto document, parse_document(plain, settings_.document_bytes_max));
  if (document.deleted) return fail(ErrorCode::bad_request, "Documents are deleted with deleteDocument.");
  if (!document.history.empty()) return fail(ErrorCode::bad_request, "A function does not write `_revisions`.");
  if (!document.id && !makes_id) return fail(ErrorCode::bad_request, "Document id must not be empty");
  Parsed parsed;
  parsed.id = document_id(document.id ? *document.id : new_uuid(settings_));
  OCTAVO_TRY_VOID(partitioning::check_document_id(parsed.id, true));
  if (document.id && document.id->find(':') != std::string::npos && *document.id != parsed.id) {
    return fail(ErrorCode::bad_request, "The document '" + *document.id + "' is of another partition.");
  }
  parsed.body = std::move(document.body);
  parsed.revision = document.revision;
  return parsed;
}

}  // namespace octavo::api::couch
