#pragma once

#include <boost/json.hpp>

#include "api/cosmos/container_definition.h"
#include "partitioning/database.h"

namespace octavo::api::cosmos {

/// Adds `statistics` to a container as it is shown (`x-ms-documentdb-populatepartitionstatistics`): what each physical
/// partition holds and spends, and the partition keys that spend most. The members that Azure Cosmos DB has no name for
/// begin with an underscore.
Expected<void> add_statistics(const partitioning::Database& database, const ContainerDefinition& container,
                              boost::json::object& shown);

}  // namespace octavo::api::cosmos
