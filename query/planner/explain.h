#pragma once

#include <string_view>
#include <vector>

#include <boost/json.hpp>

#include "query/planner/find_request.h"
#include "query/planner/plan.h"

namespace octavo::query {

/// The reply to `_explain`: CouchDB's members, and beside them what the planner knows: estimated cost and rows of every
/// candidate, the ranges that are read, whether documents are tested, whether the result is sorted in memory.
boost::json::object explain(const FindRequest& request, const Plan& plan, const std::vector<Candidate>& candidates,
                            std::string_view database, bool database_is_partitioned);

/// The plan alone: branches with their ranges, estimated cost, warnings.
boost::json::object explain_plan(const Plan& plan);

}  // namespace octavo::query
