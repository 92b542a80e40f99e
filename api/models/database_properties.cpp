#include "api/models/database_properties.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <boost/json.hpp>

#include "api/models/container_definition.h"
#include "api/models/item.h"
#include "api/models/item_key.h"
#include "api/models/item_shape.h"
#include "partitioning/engine.h"
#include "query/index/local/unique_keys.h"
#include "query/json/parsed_document.h"

namespace octavo::api {

namespace {

constexpr std::string_view couch_start = "{\"properties\":";
/// The change feed of the latest versions shows no deletions, and that of all versions reads a log of its own. So only
/// indexes need the tombstones of a container, and they are not that far behind unless they fail.
constexpr std::int64_t container_tombstones_s = 3'600;

std::optional<std::int64_t> integer_in(const boost::json::object& object, std::string_view name) {
  const auto* member = object.if_contains(name);
  return member != nullptr && member->is_int64() ? std::optional(member->get_int64()) : std::nullopt;
}

// Absent or damaged members count as not given: definitions are checked when they are created.
query::DatabaseProperties read_couch_definition(std::string_view definition) {
  query::DatabaseProperties properties;
  properties.keeps_replaced = true;
  if (definition.empty()) return properties;
  const auto parsed = query::parse_json(definition);
  const auto* stored = parsed && parsed->is_object() ? parsed->get_object().if_contains("properties") : nullptr;
  if (stored == nullptr || !stored->is_object()) return properties;
  const auto& members = stored->get_object();
  properties.ttl_s = integer_in(members, "ttl");
  properties.throughput = static_cast<std::uint32_t>(integer_in(members, "throughput").value_or(0));
  properties.all_versions_s = integer_in(members, "all_versions").value_or(0);
  properties.tombstone_retention_s = integer_in(members, "tombstone_retention").value_or(0);
  return properties;
}

// 0 if the Cosmos database has none, or cannot be read now.
std::uint32_t throughput_of_owner(partitioning::Engine& engine, std::string_view owner) {
  const auto stored = engine.catalog().fact(cosmos::database_area, owner);
  if (!stored || !*stored) return 0;
  const auto parsed = query::parse_json(**stored);
  const auto* throughput = parsed && parsed->is_object() ? parsed->get_object().if_contains("throughput") : nullptr;
  return throughput != nullptr ? cosmos::throughput_from_json(*throughput).highest() : 0;
}

using query::project::DocumentForm;

class CouchForm final : public DocumentForm {
 public:
  const query::sql::RowShape& shape() const override { return query::sql::document_rows(); }
  std::optional<std::string> implied_id(std::string_view /*document_id*/) const override { return std::nullopt; }
  bool keeps_key_in_body() const override { return false; }
  std::optional<std::string> find_id(std::string_view /*key*/, std::string_view /*id*/) const override {
    return std::nullopt;
  }
  Expected<Placed> place(std::string_view /*row*/, std::size_t /*bytes_max*/) const override {
    return fail(ErrorCode::internal, "A projection has templates for the ids of these documents.");
  }
};

class ContainerForm final : public DocumentForm {
 public:
  explicit ContainerForm(std::shared_ptr<const cosmos::ContainerDefinition> container)
      : container_(std::move(container)) {}

  const query::sql::RowShape& shape() const override { return *container_->shape; }
  std::optional<std::string> implied_id(std::string_view document_id) const override {
    return std::string(cosmos::item_id_of(document_id));
  }
  bool keeps_key_in_body() const override { return true; }
  std::optional<std::string> find_id(std::string_view key, std::string_view id) const override {
    const auto parsed = cosmos::parse_key("[" + std::string(key) + "]", *container_);
    if (!parsed || !cosmos::is_complete(*parsed, *container_)) return std::nullopt;
    return cosmos::document_id(*parsed, id);
  }
  Expected<Placed> place(std::string_view row, std::size_t bytes_max) const override {
    OCTAVO_TRY(auto item, cosmos::parse_item(row, *container_, bytes_max, std::nullopt));
    return Placed{cosmos::document_id(item.key, item.id), std::move(item.body)};
  }

 private:
  const std::shared_ptr<const cosmos::ContainerDefinition> container_;
};

}  // namespace

Expected<std::shared_ptr<const DocumentForm>> read_form(const partitioning::Database& database) {
  if (!is_container(database.definition()->text)) return std::make_shared<const CouchForm>();
  OCTAVO_TRY(auto container, cosmos::container_of(database));
  return std::make_shared<const ContainerForm>(std::move(container));
}

Expected<query::DatabaseProperties> read_definition(partitioning::Database& database) {
  OCTAVO_TRY(auto properties, properties_of(database));
  if (!properties.throughput_owner.empty()) {
    properties.throughput = throughput_of_owner(database.engine(), properties.throughput_owner);
  }
  return properties;
}

std::int64_t analytical_ttl_of(const partitioning::Database& database) {
  if (!is_container(database.definition()->text)) return 0;
  const auto container = cosmos::container_of(database);
  return container ? (*container)->analytical_ttl_s : 0;
}

Expected<query::DatabaseProperties> properties_of(const partitioning::Database& database) {
  const auto definition = database.definition();
  if (!is_container(definition->text)) return read_couch_definition(definition->text);
  OCTAVO_TRY(const auto container, cosmos::container_of(database));
  query::DatabaseProperties properties;
  properties.ttl_s = container->default_ttl_s;
  properties.all_versions_s = container->version_retention_s();
  properties.tombstone_retention_s = std::max(properties.all_versions_s, container_tombstones_s);
  if (!container->throughput) {
    properties.throughput_owner = database.name().substr(0, database.name().find('/'));
  } else if (container->throughput->enforced) {
    properties.throughput = container->throughput->highest();
  }
  properties.unique_keys = query::unique_keys_of(container->unique_keys);
  properties.automatic_index = query::AutomaticIndex::from_policy(container->resource.at("indexingPolicy").get_object(),
                                                                  query::StringOrder::bytes);
  return properties;
}

std::string to_couch_definition(const query::DatabaseProperties& properties) {
  const std::string members = properties_json(properties);
  return members == "{}" ? std::string() : std::string(couch_start) + members + '}';
}

std::string properties_json(const query::DatabaseProperties& properties) {
  boost::json::object shown;
  if (properties.ttl_s) shown["ttl"] = *properties.ttl_s;
  if (properties.throughput != 0) shown["throughput"] = properties.throughput;
  if (properties.all_versions_s != 0) shown["all_versions"] = properties.all_versions_s;
  if (properties.tombstone_retention_s != 0) shown["tombstone_retention"] = properties.tombstone_retention_s;
  return boost::json::serialize(shown);
}

bool is_container(std::string_view definition) {
  return !definition.empty() && !definition.starts_with(couch_start);
}

}  // namespace octavo::api
