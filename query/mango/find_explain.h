#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/mango/find_request.h"
#include "query/plan/plan.h"

namespace octavo::query {

/// The reply to `_explain`: CouchDB's members, and what the planner knows besides: rows and charges of every candidate,
/// the ranges that are read, whether documents are tested, whether the result is sorted in memory. `plans` and `sure`:
/// as in PlannerResult.
boost::json::object explain(const FindRequest& request, std::span<const Plan> plans, std::size_t sure,
                            const std::vector<Candidate>& candidates, std::string_view database,
                            bool database_is_partitioned);

}  // namespace octavo::query
