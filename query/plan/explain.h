#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <boost/json.hpp>

#include "query/plan/plan.h"

namespace octavo::query {

/// The plans, with their branches, ranges, charges and warnings: the first plan, then those that take turns with it.
/// `plans` and `sure`: as in PlannerResult.
boost::json::object explain_plans(std::span<const Plan> plans, std::size_t sure);

/// The candidates that no plan uses, each with its index, its entries and charges, and the reason.
boost::json::array explain_rejected(std::span<const Candidate> candidates);

/// The definition of an index; absent: the primary index.
boost::json::object explain_index(const std::optional<IndexView>& index);

}  // namespace octavo::query
