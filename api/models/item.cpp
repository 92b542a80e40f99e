#include "api/models/item.h"

#include <algorithm>
#include <array>
#include <limits>

#include "api/http/entity_tag.h"
#include "api/models/errors.h"
#include "base/json_writer.h"
#include "config/value_text.h"
#include "query/index/raw_field.h"
#include "query/json/normalize.h"
#include "query/json/number.h"
#include "query/json/property_path.h"
#include "query/json/split.h"

namespace octavo::api::cosmos {

namespace {

// Properties that the server sets. Clients send back what they have read, so these are ignored in bodies.
bool is_set_by_server(std::string_view name) {
  constexpr std::array<std::string_view, 7> names{"_rid", "_self", "_etag", "_ts", "_attachments", "_lsn", "_metadata"};
  return std::ranges::find(names, name) != names.end();
}

// Metadata names of the CouchDB API: in an item they could not be distinguished from its metadata there.
bool is_of_documents(std::string_view name) {
  constexpr std::array<std::string_view, 9> names{"_id",        "_rev",       "_deleted",           "_revisions",
                                                  "_revs_info", "_conflicts", "_deleted_conflicts", "_local_seq",
                                                  "_removed"};
  return std::ranges::find(names, name) != names.end();
}

const query::FieldPath& id_member() {
  static const query::FieldPath path = query::property_field_path({"id"});
  return path;
}

Expected<std::string> item_id(std::string_view body) {
  const std::string_view raw = query::find_raw_field(body, id_member());
  if (raw.empty()) {
    return fail(ErrorCode::bad_request,
                "The input content is invalid because the required properties - 'id; ' - are missing");
  }
  if (raw.front() != '"') return fail(ErrorCode::bad_request, "The property 'id' of an item must be a string.");
  OCTAVO_TRY(auto id, query::decode_json_string(raw));
  OCTAVO_TRY_VOID(check_item_id(id));
  return id;
}

std::string_view raw_time_to_live(std::string_view body) {
  static const query::FieldPath path = query::property_field_path({"ttl"});
  return query::find_raw_field(body, path);
}

// `ttl` must be valid also where the container has no time to live: it may get one later.
Expected<void> check_time_to_live(std::string_view body) {
  const std::string_view raw = raw_time_to_live(body);
  if (raw.empty()) return {};
  const auto seconds = query::whole_number(raw);
  if (!seconds || *seconds < -1 || *seconds == 0 || *seconds > std::numeric_limits<std::int32_t>::max()) {
    return fail(ErrorCode::bad_request, "The input ttl '" + std::string(raw.substr(0, 32)) +
                                            "' is invalid. Ensure to provide a nonzero positive integer or -1.");
  }
  return {};
}

std::unexpected<Error> item_too_large(std::size_t bytes, std::size_t bytes_max) {
  return fail(ErrorCode::too_large, "Request size is too large. The item " +
                                        config::over_limit(bytes, bytes_max, "cosmos.item_bytes_max") + ".");
}

}  // namespace

Expected<Item> parse_item(std::string_view json, const ContainerDefinition& container, std::size_t bytes_max,
                          const std::optional<partitioning::TypedKey>& named) {
  if (json.size() > bytes_max) return item_too_large(json.size(), bytes_max);
  Item item;
  item.body.reserve(json.size());
  std::vector<query::SpecialField> special;
  if (auto normalized = query::normalize_document(json, item.body, special); !normalized) {
    return fail(ErrorCode::bad_request, "The request body must be a JSON object: " + normalized.error().reason);
  }
  for (const auto& field : special) {
    if (is_set_by_server(field.name)) continue;
    if (is_of_documents(field.name)) {
      return fail(ErrorCode::bad_request, "The property '" + field.name + "' is reserved: choose another name.");
    }
    item.body.pop_back();
    append_json_key(item.body, field.name);
    OCTAVO_TRY_VOID(query::normalize_value(field.raw, item.body));
    item.body += '}';
  }
  OCTAVO_TRY(item.id, item_id(item.body));
  OCTAVO_TRY_VOID(check_time_to_live(item.body));
  OCTAVO_TRY(item.key, key_of_item(item.body, container));
  if (named) {
    if (!is_complete(*named, container)) return incomplete_key();
    if (*named != item.key) {
      return fail(ErrorCode::bad_request,
                  "PartitionKey extracted from document doesn't match the one specified in the header.",
                  word::key_mismatch);
    }
  }
  return item;
}

bool is_reserved_property(std::string_view name) {
  return is_set_by_server(name) || is_of_documents(name);
}

Expected<void> check_same_item(std::string_view before, std::string_view after, const ContainerDefinition& container,
                               std::size_t bytes_max) {
  if (after.size() > bytes_max) return item_too_large(after.size(), bytes_max);
  // A document written through the CouchDB API may have any value there.
  if (raw_time_to_live(before) != raw_time_to_live(after)) OCTAVO_TRY_VOID(check_time_to_live(after));
  // A document written through the CouchDB API need not contain its id.
  if (query::find_raw_field(before, id_member()) != query::find_raw_field(after, id_member())) {
    return fail(ErrorCode::bad_request, "The property 'id' of an item cannot be changed.");
  }
  OCTAVO_TRY(const auto key_before, key_of_item(before, container));
  OCTAVO_TRY(const auto key_after, key_of_item(after, container));
  if (key_before != key_after) {
    return fail(ErrorCode::bad_request, "The partition key of an item cannot be changed.", word::key_mismatch);
  }
  return {};
}

MatchCondition MatchCondition::parse(std::optional<std::string_view> header) {
  MatchCondition condition;
  if (!header || header->empty()) return condition;
  condition.given = true;
  condition.any = *header == "*";
  if (auto revision = storage::Revision::parse(unquoted_tag(*header))) condition.revision = *revision;
  return condition;
}

storage::DocumentWrite replacing_write(std::string document_id, std::string body, bool must_exist,
                                       const MatchCondition& condition) {
  storage::DocumentWrite write;
  write.id = std::move(document_id);
  write.body = std::move(body);
  write.base = must_exist ? storage::WriteBase::live_winner : storage::WriteBase::upserted;
  // A malformed ETag matches no revision: a missing item is 404 before it can be 412.
  if (condition.given && !condition.any) write.parent = condition.revision.value_or(storage::Revision());
  return write;
}

storage::DocumentWrite deleting_write(std::string document_id, const MatchCondition& condition) {
  auto write = replacing_write(std::move(document_id), "{}", true, condition);
  write.deleted = true;
  return write;
}

storage::DocumentWrite creating_write(std::string document_id, std::string body) {
  storage::DocumentWrite write;
  write.id = std::move(document_id);
  write.body = std::move(body);
  return write;
}

Error in_cosmos_words(Error error, bool conditional) {
  if (error.code == ErrorCode::conflict) {
    error.reason.clear();
    if (conditional) error.code = ErrorCode::precondition_failed;
    error.word = conditional ? word::etag : word::exists;
  } else if (error.code == ErrorCode::not_found || error.code == ErrorCode::deleted) {
    error.reason.clear();
  }
  return error;
}

}  // namespace octavo::api::cosmos
