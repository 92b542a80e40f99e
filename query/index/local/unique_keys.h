#pragma once

#include <memory>
#include <string_view>

#include "storage/partition/physical_partition.h"

namespace octavo::query {

/// The unique keys in a database's definition (`resource.uniqueKeyPolicy.uniqueKeys[].paths`); null: none. An item
/// without a value at a path counts as having null there, as in Azure Cosmos DB. The definition was checked when the
/// database was created; damaged parts are ignored.
std::shared_ptr<const storage::UniqueKeys> unique_keys_of(std::string_view definition);

}  // namespace octavo::query
