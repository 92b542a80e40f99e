#pragma once

#include <cstddef>
#include <memory>

#include "base/task.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/plan/planner.h"

namespace octavo::query {

/// The first index of the plan that is not built yet in the physical partition `partition_id`; global indexes are built
/// for all of them or for none. Null: all are built. Points into the plan.
const IndexView* find_unbuilt(const Plan& plan, std::size_t partition_id);

/// Waits until the global indexes of the plan contain everything that was written before now; after some minutes it
/// fails with timeout. Does not suspend if they are current. Errors: those of the indexes and the storage.
Task<Expected<void>> wait_for_indexes(MangoIndexes& indexes, std::shared_ptr<const Plan> plan);

}  // namespace octavo::query
