#include "api/models/container_definition.h"

#include <utility>

#include "api/models/container_members.h"
#include "api/models/container_parser.h"
#include "api/models/database_properties.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "api/models/resource_id.h"
#include "query/json/parsed_document.h"

namespace octavo::api::cosmos {

namespace {

namespace json = boost::json;

}  // namespace

std::string ContainerDefinition::self_link() const {
  return "dbs/" + show_rid(std::string_view(rid).substr(0, 4)) + "/colls/" + show_rid(rid) + "/";
}

Expected<ContainerDefinition> ContainerDefinition::from_request(const json::object& body) {
  OCTAVO_TRY_VOID(check_members(body));
  ContainerDefinition definition;
  definition.resource = body;
  OCTAVO_TRY_VOID(complete_definition(definition));
  exclude_etag(definition);
  decide_automatic(definition);
  OCTAVO_TRY_VOID(check_spatial_indexes(definition));
  OCTAVO_TRY_VOID(check_key_paths(definition));
  OCTAVO_TRY_VOID(read_computed_properties(definition));
  return definition;
}

Expected<ContainerDefinition> ContainerDefinition::replaced_by(const json::object& body) const {
  OCTAVO_TRY_VOID(check_members(body));
  json::object next = body;
  auto* key = next.if_contains("partitionKey");
  if (key == nullptr || key->is_null()) {
    next["partitionKey"] = resource.at("partitionKey");
  } else if (key->is_object()) {
    for (const std::string_view name : {"version", "systemKey"}) {
      const auto* before = resource.at("partitionKey").get_object().if_contains(name);
      if (before != nullptr && !key->get_object().contains(name)) key->get_object()[name] = *before;
    }
  }
  ContainerDefinition definition;
  definition.resource = std::move(next);
  OCTAVO_TRY_VOID(complete_definition(definition));
  if (excludes_etag(*this)) exclude_etag(definition);
  decide_automatic(definition);
  OCTAVO_TRY_VOID(check_spatial_indexes(definition));
  OCTAVO_TRY_VOID(read_computed_properties(definition));
  if (definition.id != id) return fail(ErrorCode::bad_request, "The id of a container cannot be changed.");
  if (definition.key_path_texts != key_path_texts || definition.key_scheme != key_scheme) {
    return fail(ErrorCode::bad_request, "Document collection partition key cannot be changed.");
  }
  const auto* before = resource.if_contains("uniqueKeyPolicy");
  const auto* after = definition.resource.if_contains("uniqueKeyPolicy");
  if (definition.unique_keys != unique_keys) {
    return fail(ErrorCode::bad_request, "Unique keys of a container cannot be changed.");
  }
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

Expected<ContainerDefinition> ContainerDefinition::from_stored(std::string_view text, std::string_view database_name) {
  const auto damaged = [] { return fail(ErrorCode::corrupted, "The stored definition of a container is damaged."); };
  auto value = query::parse_json(text);
  if (!value || !value->is_object()) return damaged();
  const auto& stored = value->get_object();
  const auto* resource = stored.if_contains("resource");
  const auto rid = parse_rid(query::text_member(stored, "rid"));
  if (resource == nullptr || !resource->is_object() || !rid || rid->size() != 8) return damaged();
  ContainerDefinition definition;
  definition.resource = resource->get_object();
  definition.resource["id"] = database_name.substr(database_name.find('/') + 1);
  OCTAVO_TRY_VOID(complete_definition(definition));
  // Earlier versions stored computed properties without checking them: invalid ones are ignored.
  if (!read_computed_properties(definition)) definition.computed = nullptr;
  definition.rid = *rid;
  definition.etag = query::text_member(stored, "etag");
  const auto* modified = stored.if_contains("modified_s");
  definition.modified_s = modified != nullptr && modified->is_int64() ? modified->get_int64() : 0;
  if (const auto* throughput = stored.if_contains("throughput")) {
    definition.throughput = throughput_from_json(*throughput);
  }
  definition.offer_rid = query::text_member(stored, "offer_rid");
  definition.offer_etag = query::text_member(stored, "offer_etag");
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
  OCTAVO_TRY(auto container, ContainerDefinition::from_stored(definition->text, database.name()));
  container.former = std::make_shared<FormerKeySlot>();
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

}  // namespace octavo::api::cosmos
