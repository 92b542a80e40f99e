#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"
#include "query/database/database_properties.h"
#include "query/project/document_form.h"

namespace octavo::api {

/// The query::DefinitionReader for databases of both APIs. Errors: corrupted.
Expected<query::DatabaseProperties> read_definition(partitioning::Database& database);

/// The query::project::FormReader for databases of both APIs. Errors: corrupted.
Expected<std::shared_ptr<const query::project::DocumentForm>> read_form(const partitioning::Database& database);

/// The time that rows of a container's analytical store stay, as analytics::ContainerTtl; 0: it has no store, or the
/// database is not a container.
std::int64_t analytical_ttl_of(const partitioning::Database& database);

/// Returns the same as read_definition(), but a container that shares its database's throughput has the throughput 0,
/// and nothing waits for the disk.
Expected<query::DatabaseProperties> properties_of(const partitioning::Database& database);

/// The definition of a database of the CouchDB API, from the properties that this API can set: time to live,
/// throughput, all versions and the retention of tombstones. Empty if none of them is set.
///
/// Format (definition of a database of the CouchDB API):
///   {"properties":{"ttl":…,"throughput":…,"all_versions":…,"tombstone_retention":…}}
///
/// Properties that are not set are absent.
std::string to_couch_definition(const query::DatabaseProperties& properties);
/// The value of "properties" in that format.
std::string properties_json(const query::DatabaseProperties& properties);

/// Whether a database with this definition is a container of the Azure Cosmos DB API.
bool is_container(std::string_view definition);

}  // namespace octavo::api
