#pragma once

#include <boost/json.hpp>

#include "api/models/container_definition.h"
#include "partitioning/database.h"

namespace octavo::api::cosmos {

/// Adds `statistics` to a container in a reply (`x-ms-documentdb-populatepartitionstatistics`): the size and
/// consumption of each physical partition, and the partition keys that consume most. Members that Azure Cosmos DB does
/// not have begin with an underscore.
Expected<void> add_statistics(const partitioning::Database& database, const ContainerDefinition& container,
                              boost::json::object& shown);

}  // namespace octavo::api::cosmos
