#include "api/models/item_key.h"

#include <cmath>
#include <utility>

#include "api/models/errors.h"
#include "base/unix_time.h"
#include "partitioning/engine.h"
#include "query/index/raw_field.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;
using partitioning::KeyValue;
using partitioning::MissingValue;
using partitioning::NullValue;
using partitioning::TypedKey;

constexpr std::size_t item_id_bytes_max = 1023;  // Azure Cosmos DB service limits
constexpr std::size_t partition_key_bytes_max = 2048;

std::unexpected<Error> invalid_key() {
  return fail(ErrorCode::bad_request,
              "Partition key is invalid: expected a JSON array of strings, numbers, booleans, null, or {} for an item "
              "without the property, such as [\"books\"].");
}

Expected<KeyValue> checked(std::string text) {
  if (text.size() > partition_key_bytes_max) {
    return fail(ErrorCode::bad_request, "The partition key is too long: at most 2048 bytes are allowed.");
  }
  return KeyValue(std::move(text));
}

// Fast path for `["plain"]` without escapes, the common form.
std::optional<std::string_view> plain_string(std::string_view json) {
  if (json.size() < 4 || !json.starts_with("[\"") || !json.ends_with("\"]")) return std::nullopt;
  const std::string_view text = json.substr(2, json.size() - 4);
  for (const char c : text) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x80) {
      return std::nullopt;
    }
  }
  return text;
}

constexpr std::string_view former_key_fact_name = "former_key";

Expected<std::shared_ptr<const FormerKey>> read_former_key(partitioning::Database& database) {
  OCTAVO_TRY(const auto text, database.engine().catalog().fact(
                                  storage::Catalog::area_of_database(database.instance_tag()), former_key_fact_name));
  if (!text) return nullptr;
  const auto damaged = [] { return fail(ErrorCode::corrupted, "The former key of a container is damaged."); };
  const auto parsed = query::parse_json(*text);
  if (!parsed || !parsed->is_object()) return damaged();
  const auto* const key = parsed->get_object().if_contains("partitionKey");
  const auto* const until = parsed->get_object().if_contains("until_s");
  if (key == nullptr || until == nullptr || !until->is_int64()) return damaged();
  auto former = std::make_shared<FormerKey>();
  OCTAVO_TRY(auto container, ContainerDefinition::from_request({{"id", "former"}, {"partitionKey", *key}}));
  former->container = std::make_shared<const ContainerDefinition>(std::move(container));
  former->until_s = until->get_int64();
  return former;
}

}  // namespace

Expected<TypedKey> parse_key(std::string_view json, const ContainerDefinition& container) {
  if (const auto text = plain_string(json); text && !container.key_paths.empty()) {
    OCTAVO_TRY(auto value, checked(std::string(*text)));
    return TypedKey({std::move(value)}, container.hierarchical());
  }
  auto parsed = query::parse_json(json);
  if (!parsed || !parsed->is_array()) return invalid_key();
  std::vector<KeyValue> values;
  for (const auto& entry : parsed->get_array()) {
    if (entry.is_string()) {
      OCTAVO_TRY(auto value, checked(std::string(entry.get_string())));
      values.push_back(std::move(value));
    } else if (entry.is_null()) {
      values.emplace_back(NullValue{});
    } else if (entry.is_bool()) {
      values.emplace_back(entry.get_bool());
    } else if (entry.is_number()) {
      const double number = entry.to_number<double>();
      if (!std::isfinite(number)) return invalid_key();
      values.emplace_back(number == 0 ? 0.0 : number);
    } else if (entry.is_object() && entry.get_object().empty()) {
      values.emplace_back(MissingValue{});
    } else {
      return invalid_key();
    }
  }
  // Newer clients send an empty list for an item without a key if the container has a system key.
  if (values.empty() && container.has_system_key) values.emplace_back(MissingValue{});
  if (values.size() > container.key_paths.size()) {
    return fail(ErrorCode::bad_request,
                "The partition key supplied has more components than defined in the collection.");
  }
  return TypedKey(std::move(values), container.hierarchical());
}

bool is_complete(const TypedKey& key, const ContainerDefinition& container) {
  return key.values().size() == container.key_paths.size();
}

std::unexpected<Error> incomplete_key() {
  return fail(ErrorCode::bad_request,
              "Partition key provided either doesn't correspond to definition in the collection or doesn't match "
              "partition key field values specified in the document. The partition key supplied in "
              "x-ms-documentdb-partitionkey header has fewer components than defined in the collection.",
              word::key_mismatch);
}

Expected<partitioning::TypedKey> required_key(const Request& request, const ContainerDefinition& container) {
  const auto header = request.header("x-ms-documentdb-partitionkey");
  if (!header || header->empty()) {
    if (container.has_system_key) return TypedKey({MissingValue{}}, false);
    return fail(ErrorCode::bad_request, "PartitionKey value must be supplied for this operation.");
  }
  OCTAVO_TRY(auto key, parse_key(*header, container));
  if (!is_complete(key, container)) return incomplete_key();
  return key;
}

Expected<TypedKey> key_of_item(std::string_view body, const ContainerDefinition& container) {
  std::vector<KeyValue> values;
  values.reserve(container.key_paths.size());
  for (const auto& path : container.key_paths) {
    const std::string_view raw = query::find_raw_field(body, path);
    // As in Azure Cosmos DB and in the clients, which send the key: an object or an array is no value.
    if (raw.empty() || raw.front() == '{' || raw.front() == '[') {
      values.emplace_back(MissingValue{});
    } else if (raw.front() == '"') {
      OCTAVO_TRY(auto text, query::decode_json_string(raw));
      OCTAVO_TRY(auto value, checked(std::move(text)));
      values.push_back(std::move(value));
    } else if (raw == "null") {
      values.emplace_back(NullValue{});
    } else if (raw == "true" || raw == "false") {
      values.emplace_back(raw == "true");
    } else {
      double number = 0;
      const auto parsed = query::parse_json(raw);
      if (parsed && parsed->is_number()) number = parsed->to_number<double>();
      if (!parsed || !std::isfinite(number)) {
        return fail(ErrorCode::bad_request, "The number at the partition key path is too large.");
      }
      values.emplace_back(number == 0 ? 0.0 : number);
    }
  }
  return TypedKey(std::move(values), container.hierarchical());
}

Expected<void> check_item_id(std::string_view id) {
  if (id.empty()) {
    return fail(ErrorCode::bad_request,
                "The input content is invalid because the required properties - 'id; ' - are missing");
  }
  if (id.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::bad_request, "The property 'id' of an item cannot hold the character U+0000.");
  }
  if (id.size() > item_id_bytes_max) {
    return fail(ErrorCode::bad_request,
                "The input name is invalid. Ensure to provide a unique non-empty string less than '1024' characters.");
  }
  if (id.find_first_of("/\\#") != std::string_view::npos) {
    return fail(ErrorCode::bad_request, "Id contains illegal chars: '/', '\\' and '#' are not allowed.");
  }
  return {};
}

std::string document_id(const TypedKey& key, std::string_view id) {
  std::string text = key.encode();
  text.reserve(text.size() + 1 + id.size());
  text += ':';
  text += id;
  return text;
}

std::string_view item_id_of(std::string_view document_id) {
  const std::size_t colon = document_id.find(':');
  return colon == std::string_view::npos ? document_id : document_id.substr(colon + 1);
}

Expected<std::optional<storage::FactChange>> former_key_fact(const partitioning::Database& source,
                                                             const partitioning::Database& successor,
                                                             std::chrono::seconds grace) {
  const auto before = container_of(source);
  if (!before && before.error().code == ErrorCode::not_found) return std::nullopt;
  if (!before) return std::unexpected(before.error());
  OCTAVO_TRY(const auto after, container_of(successor));
  const bool is_same = (*before)->key_path_texts == after->key_path_texts && (*before)->key_scheme == after->key_scheme;
  if (is_same || grace.count() == 0) return std::nullopt;
  const json::object former{{"partitionKey", (*before)->resource.at("partitionKey")},
                            {"until_s", unix_now_s() + grace.count()}};
  return storage::FactChange{storage::Catalog::area_of_database(successor.instance_tag()),
                             std::string(former_key_fact_name), json::serialize(former)};
}

Expected<std::shared_ptr<const FormerKey>> FormerKeySlot::key_of(partitioning::Database& database) {
  const State state = state_.load(std::memory_order_acquire);
  if (state == State::none) return nullptr;
  const std::lock_guard lock(mutex_);
  if (state_.load(std::memory_order_relaxed) == State::unread) {
    OCTAVO_TRY(key_, read_former_key(database));
  }
  if (key_ && key_->until_s <= unix_now_s()) key_.reset();
  state_.store(key_ ? State::some : State::none, std::memory_order_release);
  return key_;
}

}  // namespace octavo::api::cosmos
