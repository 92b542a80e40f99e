#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "api/models/throughput.h"
#include "base/error.h"
#include "partitioning/database.h"
#include "query/json/field_path.h"
#include "query/sql/compile/computed_properties.h"
#include "storage/catalog.h"

namespace octavo::api::cosmos {

class ItemShape;
class FormerKeySlot;

/// The area of the catalog with the databases of this API, which contain the containers
/// (resources/database_definition.h).
inline constexpr std::string_view database_area = "cosmos_databases";

/// The partition key of a container that an old client created without one: items need not have it.
inline constexpr std::string_view system_key_path = "/_partitionKey";

/// A container: its definition as sent by the client, checked and completed with Cosmos DB's defaults, and what the
/// server added at creation. Stored as JSON with the engine's database that contains the items. A value type.
///
/// Format (definition of a container):
///   {"resource":{…},"rid","etag","modified_s","throughput":{…},"offer_rid","offer_etag"}
struct ContainerDefinition {
  boost::json::object resource;  ///< the container as shown, without system properties
  std::string rid;               ///< 8 bytes; the first 4 are the database's
  std::string etag;
  std::int64_t modified_s = 0;
  std::optional<Throughput> throughput;  ///< nullopt: shares the database's
  std::string offer_rid;                 ///< `_rid` of its offer, in base64
  std::string offer_etag;

  // Derived from `resource`:
  std::string id;
  std::vector<std::string> key_path_texts;  ///< "/address/zip"
  std::vector<query::FieldPath> key_paths;
  storage::KeyScheme key_scheme = storage::KeyScheme::hash_v2;
  bool has_system_key = false;                ///< its only path is system_key_path, and requests need not name a key
  std::optional<std::int64_t> default_ttl_s;  ///< -1: items never expire, except by their own ttl
  std::int64_t analytical_ttl_s = 0;  ///< how long rows stay in its analytical store, -1: for ever; 0: it has none
  std::vector<std::vector<query::FieldPath>> unique_keys;
  std::int64_t version_retention_min = 0;  ///< how long every version of an item is kept; 0: no log

  query::sql::ComputedProperties::Ptr computed;  ///< null: none

  std::shared_ptr<const ItemShape> shape;  ///< set in containers from container_of
  std::shared_ptr<FormerKeySlot> former;   ///< likewise

  std::int64_t version_retention_s() const { return 60 * version_retention_min; }
  bool hierarchical() const { return key_scheme == storage::KeyScheme::multi_hash; }
  /// "dbs/<rid>/colls/<rid>/".
  std::string self_link() const;

  /// Checks what a client sent and completes it. Errors: bad_request, naming the property.
  static Expected<ContainerDefinition> from_request(const boost::json::object& body);
  /// The container after a replacement by `body`: its key, unique keys and id cannot change.
  Expected<ContainerDefinition> replaced_by(const boost::json::object& body) const;

  std::string to_stored() const;
  /// `database_name`: `<database>/<container>`. The id follows from it, as a container may be renamed.
  static Expected<ContainerDefinition> from_stored(std::string_view text, std::string_view database_name);

  /// The resource with its system properties, as replies show it.
  boost::json::object shown() const;
};

/// The container of an open database; parsed once per change. Errors: not_found if the database is not a container.
Expected<std::shared_ptr<const ContainerDefinition>> container_of(const partitioning::Database& database);

/// Computed properties of a database for queries of either API; null: none, or the database is not a container.
query::sql::ComputedProperties::Ptr computed_properties_of(const partitioning::Database& database);

}  // namespace octavo::api::cosmos
