#include "api/models/container_parser.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/models/item.h"
#include "api/models/resource_id.h"
#include "base/ascii_case.h"
#include "query/json/property_path.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;
using storage::KeyScheme;

constexpr std::size_t hierarchy_depth_max = 3;  // this and the limits below: Azure Cosmos DB service limits
constexpr std::size_t unique_keys_max = 10;
constexpr std::size_t unique_key_paths_max = 16;
constexpr std::size_t composite_paths_max = 8;
constexpr std::int64_t retention_minutes_max = 30 * 24 * 60;

std::unexpected<Error> invalid(std::string reason) {
  return fail(ErrorCode::bad_request, std::move(reason));
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

// Parses a path of a partition key or unique key.
Expected<query::FieldPath> parse_path(std::string_view text) {
  OCTAVO_TRY(const auto parts, query::split_property_path(text));
  for (const auto& part : parts) {
    if (part == "*" || part == "?" || part == "[]") {
      return invalid("The path '" + std::string(text) + "' is not valid: wildcards are not allowed here.");
    }
  }
  return query::property_field_path(parts);
}

// A number; Microsoft's client for Java sends a text, such as "V2". Azure makes version 1 of none, which hashes only
// the first 100 bytes of a value, and its replies leave the version out, which some clients take for 2. Here it is 2,
// and replies name it, so that all clients compute the same hashes.
Expected<std::int64_t> key_version_of(const json::object& partition_key) {
  const auto* version = find(partition_key, "version");
  if (version == nullptr || *version == 2 || *version == "V2") return 2;
  if (*version == 1 || *version == "V1") return 1;
  return invalid("partitionKey.version must be 1 or 2.");
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
  OCTAVO_TRY(const auto number, key_version_of(object));
  if (kind_name == "Hash" && definition.key_path_texts.size() > 1) {
    return invalid("Too many partition key paths for kind Hash: one is allowed; use kind \"MultiHash\" for more.");
  }
  if (kind_name == "MultiHash") {
    if (definition.key_path_texts.size() > hierarchy_depth_max) {
      return invalid("Too many partition key paths: a hierarchical key has at most three.");
    }
    if (number != 2) return invalid("partitionKey.version must be 2 for kind MultiHash.");
  }
  for (const auto& text : definition.key_path_texts) {
    auto path = parse_path(text);
    if (!path) {
      return invalid("The partition key component definition path '" + text +
                     "' could not be accepted. Partition key paths must contain only valid characters and not contain "
                     "a trailing slash or wildcard character.");
    }
    definition.key_paths.push_back(*std::move(path));
  }
  const auto* system_key = find(object, "systemKey");
  definition.has_system_key = system_key != nullptr && *system_key == true && definition.key_path_texts.size() == 1 &&
                              definition.key_path_texts.front() == system_key_path;
  // As in Azure Cosmos DB, a definition without a version stays without, and means version 1. Clients that compute
  // hashes take it for that.
  definition.key_scheme = kind_name == "MultiHash" ? KeyScheme::multi_hash
                          : number == 1            ? KeyScheme::hash_v1
                                                   : KeyScheme::hash_v2;
  object["kind"] = kind_name;
  object["version"] = number;
  return {};
}

Expected<void> read_time_to_live(ContainerDefinition& definition) {
  const auto* ttl = definition.resource.if_contains("defaultTtl");
  if (ttl == nullptr) return {};
  if (!ttl->is_int64() || ttl->get_int64() == 0 || ttl->get_int64() < -1 ||
      ttl->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return invalid("The value of defaultTtl must be -1, or a number of seconds from 1 to 2147483647.");
  }
  definition.default_ttl_s = ttl->get_int64();
  return {};
}

// Null and 0 mean that it has no analytical store.
Expected<void> read_analytical_ttl(ContainerDefinition& definition) {
  const auto* const ttl = find(definition.resource, "analyticalStorageTtl");
  if (ttl == nullptr) return {};
  if (!ttl->is_int64() || ttl->get_int64() < -1 || ttl->get_int64() > std::numeric_limits<std::int32_t>::max()) {
    return invalid("The value of analyticalStorageTtl must be -1, 0, or a number of seconds from 1 to 2147483647.");
  }
  definition.analytical_ttl_s = ttl->get_int64();
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
  if (keys->get_array().size() > unique_keys_max) return invalid("A container has at most 10 unique keys.");
  for (const auto& key : keys->get_array()) {
    if (!key.is_object()) return invalid("A unique key must be an object with paths.");
    OCTAVO_TRY(const auto texts, string_list(key.get_object(), "paths"));
    if (texts.empty()) return invalid("A unique key must have at least one path.");
    if (texts.size() > unique_key_paths_max) return invalid("A unique key has at most 16 paths.");
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
    if (!index.is_array() || index.get_array().size() < 2 || index.get_array().size() > composite_paths_max) {
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

constexpr std::string_view etag_path = "/\"_etag\"/?";

bool has_index_path(const json::object& policy, std::string_view list_name, std::string_view path) {
  const auto* list = find(policy, list_name);
  if (list == nullptr) return false;
  return std::ranges::any_of(list->get_array(), [&](const json::value& entry) {
    const auto* text = entry.get_object().if_contains("path");
    return text != nullptr && text->is_string() && std::string_view(text->get_string()) == path;
  });
}

bool has_etag_path(const json::object& policy, std::string_view list_name) {
  return has_index_path(policy, list_name, etag_path) || has_index_path(policy, list_name, "/_etag/?");
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
    mode_name = lower_case(mode->get_string());
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
    policy["excludedPaths"] = json::array{json::object{{"path", etag_path}}};
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
      minutes->get_int64() > retention_minutes_max) {
    return invalid("changeFeedPolicy.retentionDuration must be a number of minutes from 0 to 43200.");
  }
  definition.version_retention_min = minutes->get_int64();
  return {};
}

constexpr std::array<std::string_view, 10> system_properties{"_rid",  "_self",     "_etag",   "_ts",        "_docs",
                                                             "_udfs", "_triggers", "_sprocs", "_conflicts", "_colls"};

}  // namespace

Expected<void> complete_definition(ContainerDefinition& definition) {
  auto& resource = definition.resource;
  for (const auto name : system_properties) resource.erase(name);
  OCTAVO_TRY(definition.id, id_of(resource));
  OCTAVO_TRY_VOID(read_partition_key(definition));
  OCTAVO_TRY_VOID(read_time_to_live(definition));
  OCTAVO_TRY_VOID(read_analytical_ttl(definition));
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

bool excludes_etag(const ContainerDefinition& definition) {
  return has_etag_path(definition.resource.at("indexingPolicy").get_object(), "excludedPaths");
}

void exclude_etag(ContainerDefinition& definition) {
  auto& policy = definition.resource.at("indexingPolicy").get_object();
  if (policy.at("indexingMode").get_string() == "none" || excludes_etag(definition) ||
      has_etag_path(policy, "includedPaths"))
    return;
  policy["excludedPaths"].get_array().push_back(json::object{{"path", etag_path}});
}

void decide_automatic(ContainerDefinition& definition) {
  auto& policy = definition.resource.at("indexingPolicy").get_object();
  policy["automatic"] = policy.at("indexingMode") != "none";
}

Expected<void> check_spatial_indexes(const ContainerDefinition& definition) {
  const auto& resource = definition.resource;
  const auto* list = find(resource.at("indexingPolicy").get_object(), "spatialIndexes");
  if (list == nullptr) return {};
  if (!list->is_array()) return invalid("indexingPolicy.spatialIndexes must be an array.");
  const auto* geospatial = find(resource, "geospatialConfig");
  const auto* type =
      geospatial != nullptr && geospatial->is_object() ? find(geospatial->get_object(), "type") : nullptr;
  // Bounds are for distances on a plane.
  const bool is_plane = type != nullptr && *type == "Geometry";
  for (const auto& entry : list->get_array()) {
    if (!entry.is_object() || find(entry.get_object(), "path") == nullptr) {
      return invalid("Every entry of indexingPolicy.spatialIndexes must have a path.");
    }
    if ((find(entry.get_object(), "boundingBox") != nullptr) == is_plane) continue;
    return invalid(
        is_plane ? "Every entry of indexingPolicy.spatialIndexes needs a boundingBox, as geospatialConfig.type is "
                   "\"Geometry\"."
                 : "Entries of indexingPolicy.spatialIndexes have a boundingBox only if geospatialConfig.type is "
                   "\"Geometry\".");
  }
  return {};
}

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

Expected<void> read_computed_properties(ContainerDefinition& definition) {
  const auto* list = find(definition.resource, "computedProperties");
  if (list == nullptr) return {};
  if (!list->is_array()) {
    return invalid(
        "One of the specified inputs is invalid: computedProperties must be an array of objects with name and query.");
  }
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

}  // namespace octavo::api::cosmos
