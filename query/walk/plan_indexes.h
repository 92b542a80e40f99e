#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/task.h"
#include "query/index/catalog/mango_indexes.h"
#include "query/plan/planner.h"

namespace octavo::query {

/// How long a query waits for an index that is still being built.
struct BuildPatience {
  std::chrono::steady_clock::duration time;
  bool needs_index = false;  ///< the query fails if the index cannot be built; otherwise it is planned without it
};

/// The first index of the plan that the query of `scope` should wait for, as it is not built yet. Null: all are built,
/// or the scope says not to wait. Points into the plan.
const IndexView* find_unbuilt(const Plan& plan, const PlannerScope& scope);

/// Waits for an index that find_unbuilt returned. The query must then be planned again, with the new `catalog` and
/// `scope`, which ignores indexes that are not built if the index still is not. Errors: with `needs_index`, those of
/// the index; not_found if the database is deleted.
///
///   while (true) {
///     plan = …(catalog, scope);
///     const IndexView* waiting = find_unbuilt(plan, scope);
///     if (!waiting) break;
///     OCTAVO_CO_TRY_VOID(co_await wait_until_built(indexes, *waiting, patience, catalog, scope));
///   }
Task<Expected<void>> wait_until_built(MangoIndexes& indexes, const IndexView& index, BuildPatience patience,
                                      std::shared_ptr<const IndexCatalog>& catalog, PlannerScope& scope);

/// Whether one of the plans reads a global index, for which wait_for_indexes would wait.
bool reads_global_index(std::span<const Plan> plans);

/// Waits until the global indexes of the plans contain everything that was written before now; after some minutes it
/// fails with timeout. Does not suspend if they are current. Errors: those of the indexes and the storage.
Task<Expected<void>> wait_for_indexes(MangoIndexes& indexes, std::shared_ptr<const std::vector<Plan>> plans);
/// The same for the `plans` of a prepared query.
template <class Prepared>
Task<Expected<void>> wait_for_indexes(MangoIndexes& indexes, const std::shared_ptr<const Prepared>& prepared) {
  return wait_for_indexes(indexes, std::shared_ptr<const std::vector<Plan>>(prepared, &prepared->plans));
}

/// Returns `prepared` once its indexes are current, as wait_for_indexes does. If they cannot be updated, because the
/// disk is full or fails, returns what `prepare_without` makes without global indexes: the documents can still be read.
///
/// `prepare_without()` returns a task like this one; it must outlive this task. Errors: those of wait_for_indexes.
template <class Prepared, class PrepareWithout>
Task<Expected<std::shared_ptr<const Prepared>>> wait_or_prepare_without(MangoIndexes& indexes,
                                                                        std::shared_ptr<const Prepared> prepared,
                                                                        const PrepareWithout& prepare_without) {
  const Expected<void> current = co_await wait_for_indexes(indexes, prepared);
  if (current) co_return prepared;
  const ErrorCode code = current.error().code;
  if (code == ErrorCode::disk_full || code == ErrorCode::io_failure) {
    auto without = co_await prepare_without();
    if (without) co_return without;
  }
  co_return std::unexpected(current.error());
}

}  // namespace octavo::query
