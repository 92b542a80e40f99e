#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "query/json/field_path.h"
#include "query/plan/plan_request.h"

namespace octavo::query::advice {

/// A query without its values: what is needed to plan queries of its shape with other indexes.
struct QueryOutline {
  std::vector<FieldPath> equalities;  ///< properties that must equal one constant
  /// What the planner reads of such a query. Values are replaced by some of the same type, so that ranges keep their
  /// form, and nothing else. nullopt: no index serves it (it reads documents by their ids), or it is too large.
  std::optional<PlanRequest> plan;
  bool in_logical_partition = false;  ///< it reads one logical partition, by the request or by its conditions
  bool reads_all = false;             ///< it returns nothing before all matches are read
  std::size_t sort_properties = 0;    ///< number of properties that it sorts by
  std::uint64_t matches_needed = std::numeric_limits<std::uint64_t>::max();  ///< for a page, from the first one on
  std::size_t bytes = 0;                                                     ///< estimated memory of `plan`
  bool is_left_out = false;  ///< there could be a plan, but the query is too large, or memory too short
};

/// An outline, kept as long as there are fewer than outline_bytes_max in the process; without its plan otherwise.
/// Throws std::bad_alloc.
std::shared_ptr<const QueryOutline> keep_outline(QueryOutline outline);

/// Of all outlines in the process together.
inline constexpr std::size_t outline_bytes_max = 64ULL << 20;
/// Of one outline; a query with more is not planned.
inline constexpr std::size_t outline_conditions_max = 32;
inline constexpr std::size_t outline_values_max = 128;

/// Replaces the values, and estimates the memory. nullopt: the request has too many conditions or values.
std::optional<PlanRequest> without_values(const PlanRequest& request, std::size_t& bytes);

}  // namespace octavo::query::advice
