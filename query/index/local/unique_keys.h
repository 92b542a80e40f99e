#pragma once

#include <memory>
#include <vector>

#include "query/json/field_path.h"
#include "storage/partition/unique_keys.h"

namespace octavo::query {

/// Unique keys, each with its paths; null if there are none. A document without a value at a path counts as having null
/// there, as in Azure Cosmos DB.
std::shared_ptr<const storage::UniqueKeys> unique_keys_of(std::vector<std::vector<FieldPath>> keys);

}  // namespace octavo::query
