#include "api/models/container_definition.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "api/models/container_members.h"
#include "api/models/database_properties.h"
#include "api/models/item.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "query/json/parsed_document.h"
#include "query/json/property_path.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;
using storage::KeyScheme;

constexpr std::size_t kIdCharactersMax = 255;  // this and the limits below: Azure Cosmos DB service limits
constexpr std::size_t kHierarchyDepthMax = 3;
constexpr std::size_t kUniqueKeysMax = 10;
constexpr std::size_t kUniqueKeyPathsMax = 16;
constexpr std::size_t kCompositePathsMax = 8;
constexpr std::int64_t kRetentionMinutesMax = 30 * 24 * 60;
constexpr std::int64_t kThroughputMin = 400;
constexpr std::int64_t kThroughputMax = 1'000'000;
constexpr std::int64_t kAutoscaleMin = 1'000;

std::unexpected<Error> invalid(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason));
}

// Counts UTF-16 units, as Azure Cosmos DB does.
std::size_t character_count(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0) != 0x80) count += byte >= 0xF0 ? 2 : 1;
  }
  return count;
}

const json::value* find(const json::object& object, std::string_view name) {
  const auto* value = object.if_contains(name);
  return value != nullptr && value->is_null() ? nullptr : value;
}

Expected<std::vector<std::string>> string_list(const json::object& object, std::string_view name) {
  std::vector<std::string> texts;
  const auto* list = find(object, name);
  if (list == nullptr) return texts;
  if (!list->is_array()) return invalid("'" + std::string(name) + "' must be an array of paths.");
  for (const auto& entry : list->get_array()) {
    if (!entry.is_string()) return invalid("'" + std::string(name) + "' must be an array of paths.");
    texts.emplace_back(entry.get_string());
  }
  return texts;
}

Expected<void> read_partition_key(ContainerDefinition& definition) {
  auto* key = definition.resource.if_contains("partitionKey");
  if (key == nullptr || !key->is_object()) {
    return invalid(
        "The partition key definition is missing: partitionKey must be an object such as "
        "{\"paths\":[\"/id\"],\"kind\":\"Hash\",\"version\":2}.");
  }
  auto& object = key->get_object();
  OCTAVO_TRY(definition.key_path_texts, string_list(object, "paths"));
  if (definition.key_path_texts.empty()) return invalid("partitionKey.paths must hold at least one path.");
  const auto* kind = find(object, "kind");
  const std::string kind_name = kind == nullptr ? (definition.key_path_texts.size() > 1 ? "MultiHash" : "Hash")
                                                : (kind->is_string() ? std::string(kind->get_string()) : std::string());
  if (kind_name != "Hash" && kind_name != "MultiHash") {
    return invalid("partitionKey.kind must be \"Hash\" or \"MultiHash\".");
  }
  const auto* version = find(object, "version");
  if (version != nullptr && (!version->is_int64() || version->get_int64() < 1 || version->get_int64() > 2)) {
    return invalid("partitionKey.version must be 1 or 2.");
  }
  const std::int64_t number = version == nullptr ? 2 : version->get_int64();
  if (kind_name == "Hash" && definition.key_path_texts.size() > 1) {
    return invalid("Too many partition key paths for kind Hash: one is allowed; use kind \"MultiHash\" for more.");
  }
  if (kind_name == "MultiHash") {
    if (definition.key_path_texts.size() > kHierarchyDepthMax) {
      return invalid("Too many partition key paths: a hierarchical key has at most three.");
    }
    if (number != 2) return invalid("partitionKey.version must be 2 for kind MultiHash.");
  }
  for (const auto& text : definition.key_path_texts) {
    OCTAVO_TRY(auto path, parse_path(text));
    definition.key_paths.push_back(std::move(path));
  }
  definition.key_scheme = kind_name == "MultiHash" ? KeyScheme::multi_hash
                          : number == 1            ? KeyScheme::hash_v1
                                                   : KeyScheme::hash_v2;
  object["kind"] = kind_name;
  object["version"] = number;
  return {};
}

// Clients cannot set system properties, and a repeated level adds nothing to the key.
Expected<void> check_key_paths(const ContainerDefinition& definition) {
  for (std::size_t i = 0; i < definition.key_paths.size(); ++i) {
    const std::string& text = definition.key_path_texts[i];
    if (is_reserved_property(definition.key_paths[i].parts().front().name)) {
      return invalid("The partition key path '" + text + "' names a system property.");
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (definition.key_paths[j] == definition.key_paths[i]) {
        return invalid("The partition key path '" + text + "' is specified more than once.");
      }
    }
  }
  return {};
}

Expected<void> read_time_to_live(ContainerDefinition& definition) {
  const auto* ttl = find(definition.resource, "defaultTtl");
  if (ttl == nullptr) {
    definition.resource.erase("defaultTtl");
    return {};
  }
  if (!ttl->is_int64() || ttl->get_int64() == 0 || ttl->get_int64() < -1 ||
      ttl->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return invalid("The value of defaultTtl must be -1, or a number of seconds from 1 to 2147483647.");
  }
  definition.default_ttl_s = ttl->get_int64();
  return {};
}

Expected<void> read_unique_keys(ContainerDefinition& definition) {
  const auto* policy = find(definition.resource, "uniqueKeyPolicy");
  if (policy == nullptr) {
    definition.resource.erase("uniqueKeyPolicy");
    return {};
  }
  if (!policy->is_object()) return invalid("uniqueKeyPolicy must be an object.");
  const auto* keys = find(policy->get_object(), "uniqueKeys");
  if (keys == nullptr) return {};
  if (!keys->is_array()) return invalid("uniqueKeyPolicy.uniqueKeys must be an array.");
  if (keys->get_array().size() > kUniqueKeysMax) return invalid("A container has at most 10 unique keys.");
  for (const auto& key : keys->get_array()) {
    if (!key.is_object()) return invalid("A unique key must be an object with paths.");
    OCTAVO_TRY(const auto texts, string_list(key.get_object(), "paths"));
    if (texts.empty()) return invalid("A unique key must have at least one path.");
    if (texts.size() > kUniqueKeyPathsMax) return invalid("A unique key has at most 16 paths.");
    std::vector<query::FieldPath> paths;
    for (const auto& text : texts) {
      OCTAVO_TRY(auto path, parse_path(text));
      paths.push_back(std::move(path));
    }
    definition.unique_keys.push_back(std::move(paths));
  }
  return {};
}

Expected<bool> check_index_paths(const json::object& policy, std::string_view name) {
  bool root = false;
  const auto* list = find(policy, name);
  if (list == nullptr) return root;
  if (!list->is_array()) return invalid("indexingPolicy." + std::string(name) + " must be an array.");
  for (const auto& entry : list->get_array()) {
    const auto* path = entry.is_object() ? entry.get_object().if_contains("path") : nullptr;
    if (path == nullptr || !path->is_string()) {
      return invalid("Every entry of indexingPolicy." + std::string(name) + " must have a path.");
    }
    const std::string_view text = path->get_string();
    if (text == "/*" || text == "/") {
      root = true;
      continue;
    }
    if (!text.starts_with('/') || (!text.ends_with("/*") && !text.ends_with("/?"))) {
      return invalid("The indexing path '" + std::string(text) +
                     "' could not be accepted: it must begin with '/' and end with '/?' or '/*'.");
    }
    OCTAVO_TRY_VOID(query::split_property_path(text.substr(0, text.size() - 2)));
  }
  return root;
}

Expected<void> check_composite_indexes(const json::object& policy) {
  const auto* list = find(policy, "compositeIndexes");
  if (list == nullptr) return {};
  if (!list->is_array()) return invalid("indexingPolicy.compositeIndexes must be an array of arrays.");
  for (const auto& index : list->get_array()) {
    if (!index.is_array() || index.get_array().size() < 2 || index.get_array().size() > kCompositePathsMax) {
      return invalid("A composite index must be an array of 2 to 8 paths.");
    }
    for (const auto& entry : index.get_array()) {
      const auto* path = entry.is_object() ? entry.get_object().if_contains("path") : nullptr;
      if (path == nullptr || !path->is_string()) return invalid("Every entry of a composite index must have a path.");
      OCTAVO_TRY_VOID(query::split_property_path(std::string_view(path->get_string())));
      const auto* order = find(entry.get_object(), "order");
      if (order != nullptr && *order != "ascending" && *order != "descending") {
        return invalid("The order of a composite index path must be \"ascending\" or \"descending\".");
      }
    }
  }
  return {};
}

Expected<void> read_indexing_policy(ContainerDefinition& definition) {
  auto& resource = definition.resource;
  if (const auto* given = find(resource, "indexingPolicy"); given != nullptr && !given->is_object()) {
    return invalid("indexingPolicy must be an object.");
  }
  auto* stored = resource.if_contains("indexingPolicy");
  json::object policy = stored != nullptr && stored->is_object() ? stored->get_object() : json::object();
  const auto* mode = find(policy, "indexingMode");
  std::string mode_name = "consistent";
  if (mode != nullptr) {
    if (!mode->is_string()) return invalid("indexingPolicy.indexingMode must be \"consistent\" or \"none\".");
    mode_name.clear();
    for (const char c : mode->get_string()) {
      mode_name.push_back(c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c);
    }
  }
  if (mode_name != "consistent" && mode_name != "none" && mode_name != "lazy") {
    return invalid("indexingPolicy.indexingMode must be \"consistent\" or \"none\".");
  }
  const bool indexes = mode_name != "none";
  const auto* automatic = find(policy, "automatic");
  if (automatic != nullptr && !automatic->is_bool()) return invalid("indexingPolicy.automatic must be true or false.");
  policy["indexingMode"] = mode_name;
  if (find(policy, "automatic") == nullptr) policy["automatic"] = indexes;
  OCTAVO_TRY(const bool root_included, check_index_paths(policy, "includedPaths"));
  OCTAVO_TRY(const bool root_excluded, check_index_paths(policy, "excludedPaths"));
  OCTAVO_TRY_VOID(check_composite_indexes(policy));
  const auto is_empty = [&](std::string_view name) {
    const auto* list = find(policy, name);
    return list == nullptr || list->get_array().empty();
  };
  if (indexes && is_empty("includedPaths") && is_empty("excludedPaths")) {
    policy["includedPaths"] = json::array{json::object{{"path", "/*"}}};
    policy["excludedPaths"] = json::array{json::object{{"path", "/\"_etag\"/?"}}};
  } else if (indexes && root_included == root_excluded) {
    return invalid(root_included ? "The path '/*' is both included and excluded by the indexing policy."
                                 : "The special mandatory indexing path \"/\" is not provided in any of the path type "
                                   "sets. Please provide this path in one of the sets.");
  }
  if (find(policy, "includedPaths") == nullptr) policy["includedPaths"] = json::array();
  if (find(policy, "excludedPaths") == nullptr) policy["excludedPaths"] = json::array();
  resource["indexingPolicy"] = std::move(policy);
  return {};
}

Expected<void> read_change_feed_policy(ContainerDefinition& definition) {
  const auto* policy = find(definition.resource, "changeFeedPolicy");
  if (policy == nullptr) return {};
  const auto* minutes = policy->is_object() ? policy->get_object().if_contains("retentionDuration") : nullptr;
  if (minutes == nullptr || !minutes->is_int64() || minutes->get_int64() < 0 ||
      minutes->get_int64() > kRetentionMinutesMax) {
    return invalid("changeFeedPolicy.retentionDuration must be a number of minutes from 0 to 43200.");
  }
  definition.version_retention_min = minutes->get_int64();
  return {};
}

Expected<void> read_computed_properties(ContainerDefinition& definition) {
  const auto* list = find(definition.resource, "computedProperties");
  if (list == nullptr) return {};
  if (!list->is_array()) return invalid("computedProperties must be an array of objects with name and query.");
  std::vector<query::sql::ComputedProperty> properties;
  for (const auto& entry : list->get_array()) {
    const auto* name = entry.is_object() ? entry.get_object().if_contains("name") : nullptr;
    const auto* text = entry.is_object() ? entry.get_object().if_contains("query") : nullptr;
    if (name == nullptr || !name->is_string() || text == nullptr || !text->is_string()) {
      return invalid("Every computed property must have a name and a query.");
    }
    if (*name == "id" || is_reserved_property(name->get_string())) {
      return invalid("The name '" + std::string(name->get_string()) + "' of a computed property is reserved.");
    }
    properties.push_back({std::string(name->get_string()), std::string(text->get_string())});
  }
  OCTAVO_TRY(definition.computed, query::sql::ComputedProperties::parse(properties));
  return {};
}

constexpr std::array<std::string_view, 10> kSystemProperties{"_rid",  "_self",     "_etag",   "_ts",        "_docs",
                                                             "_udfs", "_triggers", "_sprocs", "_conflicts", "_colls"};

Expected<void> complete(ContainerDefinition& definition) {
  auto& resource = definition.resource;
  for (const auto name : kSystemProperties) resource.erase(name);
  OCTAVO_TRY(definition.id, id_of(resource));
  OCTAVO_TRY_VOID(read_partition_key(definition));
  OCTAVO_TRY_VOID(read_time_to_live(definition));
  OCTAVO_TRY_VOID(read_unique_keys(definition));
  OCTAVO_TRY_VOID(read_indexing_policy(definition));
  OCTAVO_TRY_VOID(read_change_feed_policy(definition));
  if (find(resource, "conflictResolutionPolicy") == nullptr) {
    resource["conflictResolutionPolicy"] = json::object{
        {"mode", "LastWriterWins"}, {"conflictResolutionPath", "/_ts"}, {"conflictResolutionProcedure", ""}};
  }
  if (find(resource, "geospatialConfig") == nullptr) resource["geospatialConfig"] = json::object{{"type", "Geography"}};
  return {};
}

}  // namespace

Expected<void> check_resource_id(std::string_view id) {
  if (id.empty()) return invalid("The input name is invalid: it is empty.");
  if (character_count(id) > kIdCharactersMax) {
    return invalid("The input name '" + std::string(id.substr(0, 32)) +
                   "…' is invalid: it has more than 255 characters.");
  }
  if (id.find_first_of("/\\?#") != std::string_view::npos) {
    return invalid("The input name '" + std::string(id) +
                   "' is invalid. Ensure to provide a unique non-empty string "
                   "without the characters '/', '\\', '#', '?'.");
  }
  if (id.back() == ' ') return invalid("The input name '" + std::string(id) + "' is invalid: it ends with a space.");
  return {};
}

Expected<std::string> id_of(const json::object& body) {
  const auto* id = find(body, "id");
  if (id == nullptr) {
    return invalid("The input content is invalid because the required properties - 'id; ' - are missing");
  }
  if (!id->is_string()) return invalid("The property id must be a string.");
  OCTAVO_TRY_VOID(check_resource_id(std::string_view(id->get_string())));
  return std::string(id->get_string());
}

Expected<query::FieldPath> parse_path(std::string_view text) {
  OCTAVO_TRY(const auto parts, query::split_property_path(text));
  for (const auto& part : parts) {
    if (part == "*" || part == "?" || part == "[]") {
      return invalid("The path '" + std::string(text) + "' is not valid: wildcards are not allowed here.");
    }
  }
  return query::property_field_path(parts);
}

std::string ContainerDefinition::self_link() const {
  return "dbs/" + show_rid(std::string_view(rid).substr(0, 4)) + "/colls/" + show_rid(rid) + "/";
}

Expected<ContainerDefinition> ContainerDefinition::from_request(const json::object& body) {
  OCTAVO_TRY_VOID(check_members(body));
  ContainerDefinition definition;
  definition.resource = body;
  OCTAVO_TRY_VOID(complete(definition));
  OCTAVO_TRY_VOID(check_key_paths(definition));
  OCTAVO_TRY_VOID(read_computed_properties(definition));
  return definition;
}

Expected<ContainerDefinition> ContainerDefinition::replaced_by(const json::object& body) const {
  OCTAVO_TRY_VOID(check_members(body));
  json::object next = body;
  if (find(next, "partitionKey") == nullptr) next["partitionKey"] = resource.at("partitionKey");
  ContainerDefinition definition;
  definition.resource = std::move(next);
  OCTAVO_TRY_VOID(complete(definition));
  OCTAVO_TRY_VOID(read_computed_properties(definition));
  if (definition.id != id) return invalid("The id of a container cannot be changed.");
  if (definition.key_path_texts != key_path_texts || definition.key_scheme != key_scheme) {
    return invalid("Document collection partition key cannot be changed.");
  }
  const auto* before = resource.if_contains("uniqueKeyPolicy");
  const auto* after = definition.resource.if_contains("uniqueKeyPolicy");
  if (definition.unique_keys != unique_keys) return invalid("Unique keys of a container cannot be changed.");
  if (before != nullptr && after == nullptr) definition.resource["uniqueKeyPolicy"] = *before;
  definition.rid = rid;
  definition.throughput = throughput;
  definition.offer_rid = offer_rid;
  definition.offer_etag = offer_etag;
  return definition;
}

std::string ContainerDefinition::to_stored() const {
  json::object stored;
  stored["resource"] = resource;
  stored["rid"] = show_rid(rid);
  stored["etag"] = etag;
  stored["modified_s"] = modified_s;
  if (throughput) stored["throughput"] = cosmos::to_json(*throughput);
  stored["offer_rid"] = offer_rid;
  stored["offer_etag"] = offer_etag;
  return json::serialize(stored);
}

Expected<ContainerDefinition> ContainerDefinition::from_stored(std::string_view text) {
  const auto damaged = [] { return fail(ErrorCode::corrupted, "The stored definition of a container is damaged."); };
  auto value = query::parse_json(text);
  if (!value || !value->is_object()) return damaged();
  const auto& stored = value->get_object();
  const auto text_of = [&](std::string_view name) {
    const auto* member = stored.if_contains(name);
    return member != nullptr && member->is_string() ? std::string(member->get_string()) : std::string();
  };
  const auto* resource = stored.if_contains("resource");
  const auto rid = parse_rid(text_of("rid"));
  if (resource == nullptr || !resource->is_object() || !rid || rid->size() != 8) return damaged();
  ContainerDefinition definition;
  definition.resource = resource->get_object();
  OCTAVO_TRY_VOID(complete(definition));
  // Earlier versions stored computed properties without checking them: invalid ones are ignored.
  if (!read_computed_properties(definition)) definition.computed = nullptr;
  definition.rid = *rid;
  definition.etag = text_of("etag");
  const auto* modified = stored.if_contains("modified_s");
  definition.modified_s = modified != nullptr && modified->is_int64() ? modified->get_int64() : 0;
  if (const auto* throughput = stored.if_contains("throughput")) {
    definition.throughput = throughput_from_json(*throughput);
  }
  definition.offer_rid = text_of("offer_rid");
  definition.offer_etag = text_of("offer_etag");
  return definition;
}

json::object ContainerDefinition::shown() const {
  json::object shown = resource;
  shown["_rid"] = show_rid(rid);
  shown["_ts"] = modified_s;
  shown["_self"] = self_link();
  shown["_etag"] = '"' + etag + '"';
  shown["_docs"] = "docs/";
  shown["_sprocs"] = "sprocs/";
  shown["_triggers"] = "triggers/";
  shown["_udfs"] = "udfs/";
  shown["_conflicts"] = "conflicts/";
  return shown;
}

Expected<std::shared_ptr<const ContainerDefinition>> container_of(const partitioning::Database& database) {
  const auto definition = database.definition();
  if (auto parsed = definition->parsed.load(std::memory_order_acquire)) {
    return std::static_pointer_cast<const ContainerDefinition>(std::move(parsed));
  }
  if (!is_container(definition->text)) return fail(ErrorCode::not_found, "");
  OCTAVO_TRY(auto container, ContainerDefinition::from_stored(definition->text));
  container.shape = std::make_shared<const ItemShape>(container);
  auto shared = std::make_shared<const ContainerDefinition>(std::move(container));
  definition->parsed.store(shared, std::memory_order_release);
  return shared;
}

query::sql::ComputedProperties::Ptr computed_properties_of(const partitioning::Database& database) {
  if (database.definition()->text.empty()) return nullptr;
  const auto container = container_of(database);
  return container ? (*container)->computed : nullptr;
}

Expected<std::optional<Throughput>> throughput_of(std::optional<std::string_view> manual,
                                                  std::optional<std::string_view> autoscale) {
  const auto check = [](std::int64_t value, std::int64_t min, std::int64_t step) -> Expected<std::uint32_t> {
    if (value < min || value > kThroughputMax || value % step != 0) {
      return invalid("The offer should have valid throughput values between " + std::to_string(min) + " and " +
                     std::to_string(kThroughputMax) + " inclusive in increments of " + std::to_string(step) + ".");
    }
    return static_cast<std::uint32_t>(value);
  };
  if (manual && autoscale) return invalid("Manual and autoscale throughput cannot both be asked for.");
  if (manual) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(manual->data(), manual->data() + manual->size(), value);
    if (error != std::errc{} || end != manual->data() + manual->size()) {
      return invalid("x-ms-offer-throughput must be a whole number.");
    }
    OCTAVO_TRY(const auto checked, check(value, kThroughputMin, 100));
    return Throughput{.manual = checked};
  }
  if (autoscale) {
    OCTAVO_TRY(const auto settings, query::parse_json(*autoscale));
    const auto* max = settings.is_object() ? settings.get_object().if_contains("maxThroughput") : nullptr;
    if (max == nullptr || !max->is_int64()) {
      return invalid("x-ms-cosmos-offer-autopilot-settings must be {\"maxThroughput\": a whole number}.");
    }
    OCTAVO_TRY(const auto checked, check(max->get_int64(), kAutoscaleMin, 1000));
    return Throughput{.autoscale_max = checked};
  }
  return std::nullopt;
}

json::value to_json(const Throughput& throughput) {
  return json::object{
      {"manual", throughput.manual}, {"autoscale_max", throughput.autoscale_max}, {"enforced", throughput.enforced}};
}

Throughput throughput_from_json(const json::value& value) {
  Throughput throughput;
  if (!value.is_object()) return throughput;
  const auto number = [&](std::string_view name) {
    const auto* member = value.get_object().if_contains(name);
    return member != nullptr && member->is_int64() ? static_cast<std::uint32_t>(member->get_int64()) : 0U;
  };
  throughput.manual = number("manual");
  throughput.autoscale_max = number("autoscale_max");
  const auto* enforced = value.get_object().if_contains("enforced");
  throughput.enforced = enforced != nullptr && *enforced == true;
  return throughput;
}

}  // namespace octavo::api::cosmos
