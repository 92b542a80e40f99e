#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "base/error.h"
#include "partitioning/database.h"
#include "query/json/field_path.h"
#include "query/sql/computed_properties.h"
#include "storage/catalog.h"

namespace octavo::api::cosmos {

class ItemShape;

/// Provisioned throughput of a database or container, in request units per second.
struct Throughput {
  std::uint32_t manual = 0;         ///< 0: autoscale
  std::uint32_t autoscale_max = 0;  ///< 0: manual
  bool enforced = true;             ///< false: nobody asked for it, it is shown only

  std::uint32_t highest() const { return autoscale_max != 0 ? autoscale_max : manual; }
};

/// A container: what its owner said of it, checked and completed with Cosmos DB's defaults, and what was added when it
/// was made. Stored as JSON with the engine's database that holds the items. A value type.
struct ContainerDefinition {
  boost::json::object resource;  ///< the container as shown, without system properties
  std::string rid;               ///< 8 bytes, the database's 4 first
  std::string etag;
  std::int64_t modified_s = 0;
  std::optional<Throughput> throughput;  ///< none: shares the database's
  std::string offer_rid;                 ///< shown id of its offer
  std::string offer_etag;

  // Read out of `resource`:
  std::string id;
  std::vector<std::string> key_path_texts;  ///< "/address/zip"
  std::vector<query::FieldPath> key_paths;
  storage::KeyScheme key_scheme = storage::KeyScheme::hash_v2;
  std::optional<std::int64_t> default_ttl_s;  ///< -1: items live for ever unless they say otherwise
  std::vector<std::vector<query::FieldPath>> unique_keys;
  std::int64_t version_retention_min = 0;  ///< every version of every item is kept so long; 0: there is no log

  query::sql::ComputedProperties::Ptr computed;  ///< null: none

  std::shared_ptr<const ItemShape> shape;  ///< of the containers that container_of gives

  std::int64_t version_retention_s() const { return 60 * version_retention_min; }
  bool hierarchical() const { return key_scheme == storage::KeyScheme::multi_hash; }
  /// "dbs/<rid>/colls/<rid>/".
  std::string self_link() const;

  /// Checks what a client sent and completes it. Errors: bad_request, naming the property.
  static Expected<ContainerDefinition> from_request(const boost::json::object& body);
  /// The container after a replacement by `body`: its key, unique keys and id cannot change.
  Expected<ContainerDefinition> replaced_by(const boost::json::object& body) const;

  std::string to_stored() const;
  static Expected<ContainerDefinition> from_stored(std::string_view text);

  /// The resource with its system properties, as replies show it.
  boost::json::object shown() const;
  std::string to_json() const { return boost::json::serialize(shown()); }
};

/// The container of an open database, read once per change. Errors: not_found when the database is no container.
Expected<std::shared_ptr<const ContainerDefinition>> container_of(const partitioning::Database& database);

/// What queries of a database's documents compute, by whichever door they come; null: nothing, or it is no container.
query::sql::ComputedProperties::Ptr computed_properties_of(const partitioning::Database& database);

/// Ids of databases, containers and users: 1 to 255 characters, none of `/ \ ? #`, no space at the end.
Expected<void> check_resource_id(std::string_view id);
/// `id` of a resource's body. Errors: bad_request.
Expected<std::string> id_of(const boost::json::object& body);
/// Of a partition key or unique key: no wildcards. Errors: bad_request.
Expected<query::FieldPath> parse_path(std::string_view text);

/// Throughput asked for by the headers of a creation. Errors: bad_request.
Expected<std::optional<Throughput>> throughput_of(std::optional<std::string_view> manual,
                                                  std::optional<std::string_view> autoscale);
boost::json::value to_json(const Throughput& throughput);
Throughput throughput_from_json(const boost::json::value& value);

}  // namespace octavo::api::cosmos
