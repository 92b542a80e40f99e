#include "api/couch/documents/document_parser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <boost/json.hpp>

#include "api/couch/call/query_parameters.h"
#include "base/json_writer.h"
#include "config/value_text.h"
#include "query/json/normalize.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace octavo::api::couch {

namespace {

using storage::Revision;

std::unexpected<Error> invalid(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason), "doc_validation");
}

bool is_string(std::string_view raw) {
  return raw.starts_with('"');
}

Expected<Revision> parse_raw_revision(std::string_view raw) {
  if (!is_string(raw)) return fail(ErrorCode::bad_request, "Invalid rev format");
  OCTAVO_TRY(const auto text, query::decode_json_string(raw));
  return Revision::parse(text);
}

// `_revisions`: {"start": N, "ids": [newest, …]}.
Expected<std::vector<Revision>> parse_revisions(std::string_view raw) {
  if (!raw.starts_with('{')) return invalid("Bad special document member: _revisions");
  if (std::ranges::count(raw, '"') / 2 > static_cast<std::ptrdiff_t>(revisions_per_document_max + 2)) {
    return fail(ErrorCode::too_large,
                "_revisions has more than " + std::to_string(revisions_per_document_max) + " ids.");
  }
  OCTAVO_TRY(const auto value, query::parse_json(raw));
  const auto& object = value.get_object();
  const auto* start = object.if_contains("start");
  const auto* ids = object.if_contains("ids");
  if (!start || !start->is_int64()) return invalid("_revisions.start isn't an integer.");
  if (!ids || !ids->is_array()) return invalid("_revisions.ids isn't a array.");
  const auto& list = ids->get_array();
  if (start->get_int64() < 0 || static_cast<std::uint64_t>(start->get_int64()) < list.size()) {
    return invalid("_revisions.start is less than the number of ids.");
  }
  auto generation = static_cast<std::uint64_t>(start->get_int64());
  std::vector<Revision> history;
  history.reserve(list.size());
  for (const auto& id : list) {
    if (!id.is_string()) return invalid("RevId isn't a string");
    const auto hash = storage::RevisionHash::from_text(id.get_string());
    if (!hash) return invalid("RevId isn't a valid hexadecimal");
    history.push_back({generation--, *hash});
  }
  return history;
}

Expected<void> refuse_attachments(std::string_view raw) {
  if (!raw.starts_with('{')) return invalid("Bad special document member: _attachments");
  OCTAVO_TRY(const auto members, query::split_object(raw));
  if (members.empty()) return {};
  return fail(ErrorCode::unsupported, "Attachments are not supported yet: write the document without `_attachments`.");
}

// The replicator keeps its state in such members of its documents; they are stored like ordinary fields.
bool is_replicator_field(std::string_view name) {
  constexpr std::array<std::string_view, 5> names{"_replication_state", "_replication_state_time",
                                                  "_replication_state_reason", "_replication_id", "_replication_stats"};
  for (const auto known : names) {
    if (known == name) return true;
  }
  return false;
}

bool is_ignored_field(std::string_view name) {
  return name == "_revs_info" || name == "_local_seq" || name == "_conflicts" || name == "_deleted_conflicts";
}

Expected<void> append_field(std::string& body, std::string_view name, std::string_view raw) {
  body.pop_back();
  append_json_key(body, name);
  OCTAVO_TRY_VOID(query::normalize_value(raw, body));
  body += '}';
  return {};
}

// The N of `0-N`, the form of a local document's revision. The highest number is refused, as the next edit's revision
// could not be sent back.
std::optional<std::uint64_t> local_edit_of(std::string_view raw) {
  if (!raw.starts_with("\"0-") || !raw.ends_with('"')) return std::nullopt;
  const auto number = parse_integer(raw.substr(3, raw.size() - 4));
  if (!number || *number < 0 || *number == std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(*number);
}

Expected<void> take_special(const query::SpecialField& field, ParsedDocument& document) {
  const auto& [name, raw] = field;
  if (name == "_id") {
    if (!is_string(raw)) return fail(ErrorCode::bad_request, "Document id must be a string", "illegal_docid");
    OCTAVO_TRY(document.id, query::decode_json_string(raw));
  } else if (name == "_rev") {
    if (document.local_edit = local_edit_of(raw); document.local_edit) return {};
    OCTAVO_TRY(const auto revision, parse_raw_revision(raw));
    if (document.history.empty()) document.revision = revision;
  } else if (name == "_revisions") {
    OCTAVO_TRY(document.history, parse_revisions(raw));
    if (!document.history.empty()) document.revision = document.history.front();
  } else if (name == "_deleted" && (raw == "true" || raw == "false")) {
    document.deleted = raw == "true";
  } else if (name == "_attachments") {
    return refuse_attachments(raw);
  } else if (is_replicator_field(name)) {
    return append_field(document.body, name, raw);
  } else if (!is_ignored_field(name)) {
    return invalid("Bad special document member: " + name);
  }
  return {};
}

}  // namespace

Error refusal_of_replica(Error error) {
  if (error.code == ErrorCode::unsupported) error.code = ErrorCode::forbidden;
  return error;
}

Expected<ParsedDocument> parse_document(std::string_view json, std::size_t body_bytes_max) {
  ParsedDocument document;
  document.body.reserve(json.size());
  std::vector<query::SpecialField> special;
  OCTAVO_TRY_VOID(query::normalize_document(json, document.body, special));
  for (const auto& field : special) OCTAVO_TRY_VOID(take_special(field, document));
  if (document.body.size() > body_bytes_max) {
    // In CouchDB the reason is the id alone.
    return fail(ErrorCode::too_large,
                (document.id ? *document.id + ": the document " : std::string("the document ")) +
                    config::over_limit(document.body.size(), body_bytes_max, "database.document_bytes_max"),
                "document_too_large");
  }
  return document;
}

}  // namespace octavo::api::couch
