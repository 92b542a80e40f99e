#pragma once

#include <cstddef>
#include <memory>

#include "base/task.h"
#include "partitioning/database.h"
#include "query/index/index_manager.h"
#include "query/planner/planner.h"

namespace octavo::query {

/// The first index of the plan that is not built yet at `place` (a physical partition's number; global indexes have one
/// place). Null: all are. Points into the plan.
const IndexView* find_unbuilt(const Plan& plan, std::size_t place);

/// Waits until the global indexes of the plan have all that was written before now: at most some minutes, then timeout.
/// Does not suspend when they have it. Errors: those of the indexes and the storage.
Task<Expected<void>> wait_for_indexes(std::shared_ptr<partitioning::Database> database,
                                      std::shared_ptr<const Plan> plan);

}  // namespace octavo::query
