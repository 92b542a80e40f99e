#include "query/walk/plan_indexes.h"

#include <string>
#include <utility>

namespace octavo::query {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::minutes update_patience{5};

// Calls `visit` with each global index that the plans read, until it returns true; returns whether it did.
template <class Visit>
bool any_global_index(std::span<const Plan> plans, Visit visit) {
  for (const Plan& plan : plans) {
    for (const Branch& branch : plan.branches) {
      if (branch.index && branch.index->global && visit(branch.index->global)) return true;
      for (const LeapStream& stream : branch.leaps) {
        if (stream.index.global && visit(stream.index.global)) return true;
      }
    }
  }
  return false;
}

std::vector<std::shared_ptr<GlobalIndex>> global_indexes_of(std::span<const Plan> plans) {
  std::vector<std::shared_ptr<GlobalIndex>> indexes;
  any_global_index(plans, [&](const std::shared_ptr<GlobalIndex>& index) {
    indexes.push_back(index);
    return false;
  });
  return indexes;
}

}  // namespace

const IndexView* find_unbuilt(const Plan& plan, const PlannerScope& scope) {
  if (scope.explain || scope.ignore_unbuilt) return nullptr;
  for (const Branch& branch : plan.branches) {
    if (branch.index && !branch.index->ready(scope.partition_id)) return &*branch.index;
  }
  return nullptr;
}

Task<Expected<void>> wait_until_built(MangoIndexes& indexes, const IndexView& index, BuildPatience patience,
                                      std::shared_ptr<const IndexCatalog>& catalog, PlannerScope& scope) {
  scope.ignore_unbuilt = true;
  if (patience.time <= Clock::duration::zero()) co_return Expected<void>{};
  const std::string identity = index.definition->identity;
  auto now = co_await indexes.wait_until_ready(identity, scope.partition_id, Clock::now() + patience.time);
  if (!now) {
    const bool fails = patience.needs_index || now.error().code == ErrorCode::not_found;
    if (fails) co_return std::unexpected(std::move(now).error());
    co_return Expected<void>{};  // it cannot be built now, but the documents can be read
  }
  const IndexView* view = (*now)->find(identity);
  scope.ignore_unbuilt = view && !view->ready(scope.partition_id);
  catalog = *std::move(now);
  co_return Expected<void>{};
}

bool reads_global_index(std::span<const Plan> plans) {
  return any_global_index(plans, [](const std::shared_ptr<GlobalIndex>&) { return true; });
}

Task<Expected<void>> wait_for_indexes(MangoIndexes& indexes, std::shared_ptr<const std::vector<Plan>> plans) {
  const auto read = global_indexes_of(*plans);
  if (read.empty()) co_return Expected<void>{};
  const auto keep_alive = indexes.database().shared_from_this();
  OCTAVO_CO_TRY(const storage::Sequence now, keep_alive->visible_sequence());
  for (const auto& index : read) {
    OCTAVO_CO_TRY(const bool current, indexes.is_current(*index, now));
    if (current) continue;
    OCTAVO_CO_TRY_VOID(co_await indexes.wait_until_current(index, now, Clock::now() + update_patience));
  }
  co_return Expected<void>{};
}

}  // namespace octavo::query
