#pragma once

#include <memory>
#include <string_view>

#include "storage/physical_partition.h"

namespace octavo::query {

/// The unique keys that a database's definition names (`resource.uniqueKeyPolicy.uniqueKeys[].paths`); null: none.
/// An item without a value at a path counts as having one of its own, as Azure Cosmos DB has it. The definition was
/// checked when the database was made; what is damaged is left out.
std::shared_ptr<const storage::UniqueKeys> unique_keys_of(std::string_view definition);

}  // namespace octavo::query
