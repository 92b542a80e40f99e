#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/plan/find_request.h"
#include "query/plan/plan.h"

namespace octavo::query {

/// The reply to `_explain`: CouchDB's members, and what the planner knows besides: rows and charges of every candidate,
/// the ranges that are read, whether documents are tested, whether the result is sorted in memory. `plans` and `sure`:
/// as in PlannerResult.
boost::json::object explain(const FindRequest& request, std::span<const Plan> plans, std::size_t sure,
                            const std::vector<Candidate>& candidates, std::string_view database,
                            bool database_is_partitioned);

/// Only the plans, with their branches, ranges, charges and warnings: the first plan, then those that take turns with
/// it.
boost::json::object explain_plans(std::span<const Plan> plans, std::size_t sure);

}  // namespace octavo::query
