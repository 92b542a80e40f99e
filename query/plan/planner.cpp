#include "query/plan/planner.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "partitioning/throughput/request_charge.h"
#include "query/plan/internal/planner_run.h"

namespace octavo::query {

namespace {

// Keys are looked up until one is found: more of them would cost as much as loading the document.
constexpr std::size_t filter_keys_max = 3;
constexpr std::size_t leap_streams_max = 4;
constexpr std::size_t leap_values_max = 8;

// Whether the range is one value: the rest of an entry's key is the document id.
bool is_value(const KeyRange& range) {
  return range.end.size() == range.begin.size() + 1 && range.end.starts_with(range.begin);
}

// Puts the warnings about use_index before the plan's own.
void add_warnings(PlannerResult& result, const std::vector<std::string>& before) {
  auto& warnings = result.plans[0].warnings;
  warnings.insert(warnings.begin(), before.begin(), before.end());
}

}  // namespace

Branch Planner::branch_of(const Candidate& candidate, const Selector& selector) {
  Branch branch;
  branch.selector = selector;
  branch.index = candidate.index;
  branch.bounds = candidate.bounds;
  branch.id_ranges = candidate.id_ranges;
  branch.recheck = candidate.recheck;
  branch.columns_that_must_exist = candidate.columns_that_must_exist;
  return branch;
}

// Whether `other` can filter the walked entries: it has a few values in the same automatic index, so a document that
// lacks them is recognised without loading it.
bool Planner::is_filter_of(const Candidate& other, const Candidate& walked) {
  if (!walked.index || !walked.index->definition->automatic_path || walked.bounds.point_columns == 0) return false;
  if (!other.usable || !other.index || !other.index->definition->automatic_path) return false;
  const IndexDefinition& definition = *other.index->definition;
  const auto& ranges = other.bounds.ranges;
  if (definition.absence || definition.automatic_path == walked.index->definition->automatic_path) return false;
  if (definition.fields.size() != 1 || ranges.empty() || ranges.size() > filter_keys_max) return false;
  return std::ranges::all_of(ranges, is_value);
}

void Planner::add_filters(Branch& branch, const Candidate& walked, const std::vector<Candidate>& candidates) const {
  for (const Candidate& other : candidates) {
    if (!is_filter_of(other, walked)) continue;
    const IndexDefinition& definition = *other.index->definition;
    EntryCondition& condition = branch.filters.emplace_back();
    condition.field = definition.fields[0].path.text();
    condition.path = *definition.automatic_path;
    for (const KeyRange& range : other.bounds.ranges) condition.keys.push_back(range.begin);
  }
}

// Whether its entries are those of a few values, each in document id order.
bool Planner::is_of_values(const Candidate& candidate) const {
  if (!candidate.usable || !candidate.index || candidate.leaves_out || !is_ready(candidate)) return false;
  const auto& bounds = candidate.bounds;
  return bounds.columns_used == candidate.index->definition->fields.size() && !bounds.ranges.empty() &&
         bounds.ranges.size() <= leap_values_max && std::ranges::all_of(bounds.ranges, is_value);
}

// Documents that have several values are found by leaps between the indexes (walk/leap.h), instead of by a plan for
// each index.
void Planner::join_values(std::vector<Candidate>& candidates) const {
  std::vector<std::size_t> values;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (is_of_values(candidates[i])) values.push_back(i);
  }
  // Among equal ones the one with more columns comes first: it has the values of the others.
  std::ranges::stable_sort(values, {}, [&](std::size_t i) {
    return std::pair(candidates[i].rows, -static_cast<std::ptrdiff_t>(candidates[i].bounds.columns_used));
  });
  const auto first = std::ranges::find_if(values, [&](std::size_t i) { return candidates[i].bounds.one_value; });
  if (values.size() < 2 || first == values.end()) return;
  Candidate& leader = candidates[*first];
  const auto is_held = [](const Candidate& a, const Candidate& b) {
    return std::ranges::all_of(a.index->definition->fields, [&](const auto& field) {
      return std::ranges::any_of(b.index->definition->fields,
                                 [&](const auto& other) { return other.path == field.path; });
    });
  };
  for (const std::size_t i : values) {
    Candidate& other = candidates[i];
    if (i == *first || is_held(other, leader) || leader.leaps.size() == leap_streams_max) continue;
    leader.leaps.push_back(i);
    const bool may_go_alone = other.rows < leader.rows || (!request_.sort.empty() && other.serves_sort);
    other.joined = !may_go_alone && !is_pinned(other);
  }
}

void Planner::add_leaps(Branch& branch, const Candidate& walked, const std::vector<Candidate>& candidates) {
  for (const std::size_t i : walked.leaps) {
    branch.leaps.push_back({*candidates[i].index, candidates[i].bounds.ranges});
  }
  if (!branch.leaps.empty()) branch.filters.clear();
}

bool Planner::is_pinned(const Candidate& candidate) const {
  const std::string_view identity = candidate.index ? std::string_view(candidate.index->definition->identity) : "";
  return scope_.pinned && *scope_.pinned == identity;
}

// Whether `a`, which costs `cost_a`, is preferred to `b`.
bool Planner::better(const Candidate& a, const Candidate& b, double cost_a, double cost_b) {
  // This can only differ if use_index names a design document with several indexes. The result must not depend on
  // costs.
  if (a.leaves_out != b.leaves_out) return !a.leaves_out;
  if (std::max(cost_a, cost_b) > same_cost * std::min(cost_a, cost_b)) return cost_a < cost_b;
  if (a.index.has_value() != b.index.has_value()) return a.index.has_value();
  if (!a.index) return false;
  // An index that a user created covers more than the automatic one.
  const bool automatic = a.index->definition->automatic != nullptr;
  if (automatic != (b.index->definition->automatic != nullptr)) return !automatic;
  if (a.bounds.columns_used != b.bounds.columns_used) return a.bounds.columns_used > b.bounds.columns_used;
  const auto& x = *a.index->definition;
  const auto& y = *b.index->definition;
  if (x.fields.size() != y.fields.size()) return x.fields.size() < y.fields.size();
  return std::pair(x.design_document, x.name) < std::pair(y.design_document, y.name);
}

void Planner::rank(std::vector<Candidate>& candidates, std::size_t chosen) const {
  const Candidate& winner = candidates[chosen];
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& candidate = candidates[i];
    if (i == chosen) {
      candidate.chosen = true;
      candidate.reason.clear();
      continue;
    }
    if (!candidate.usable || !candidate.reason.empty()) continue;
    if (!candidate.index) {
      candidate.reason = "unfavored_type";
      candidate.detail = "reads every document in its range";
    } else if (!winner.index) {
      candidate.reason = "higher_cost";
    } else if (candidate.bounds.columns_used < winner.bounds.columns_used) {
      candidate.reason = "less_overlap";
      candidate.detail = "the chosen index narrows the query down by more fields";
    } else if (candidate.most > winner.most) {
      const bool longer = candidate.index->definition->fields.size() > winner.index->definition->fields.size();
      candidate.reason = longer && candidate.rows == winner.rows ? "too_many_fields" : "higher_cost";
    } else if (candidate.index->definition->fields.size() > winner.index->definition->fields.size()) {
      candidate.reason = "too_many_fields";
    } else {
      candidate.reason = "alphabetically_comes_after";
    }
  }
  const auto group = [](const Candidate& candidate) {
    if (candidate.chosen) return 0;
    if (candidate.usable) return candidate.reason == "excluded_by_user" ? 2 : 1;
    if (candidate.reason == "field_mismatch" || candidate.reason == "not_built") return 3;
    return candidate.reason == "scope_mismatch" ? 4 : 5;
  };
  // Sorts numbers and moves each candidate once: candidates are large.
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
    const int group_a = group(candidates[a]);
    const int group_b = group(candidates[b]);
    if (group_a != group_b) return group_a < group_b;
    return group_a == 1 && candidates[a].most < candidates[b].most;
  });
  std::vector<Candidate> ranked;
  ranked.reserve(candidates.size());
  for (const std::size_t number : order) {
    ranked.push_back(std::move(candidates[number]));
    ranked.back().ranking = ranked.size() - 1;
  }
  candidates = std::move(ranked);
}

// Applies use_index: if the named index can be used, the others are excluded.
Expected<void> Planner::check_use_index(std::vector<Candidate>& candidates, std::vector<std::string>& warnings) const {
  const bool any = std::ranges::any_of(candidates, [&](const Candidate& candidate) {
    return candidate.usable && candidate.index && is_named(*candidate.index, request_.use_index);
  });
  if (any) {
    for (Candidate& candidate : candidates) {
      if (!candidate.usable || (candidate.index && is_named(*candidate.index, request_.use_index))) continue;
      candidate.reason = "excluded_by_user";
    }
    return {};
  }
  std::string_view design = request_.use_index[0];
  if (design.starts_with("_design/")) design.remove_prefix(8);
  if (!request_.allow_fallback) {
    return fail(
        ErrorCode::bad_request,
        request_.use_index.size() == 1
            ? fmt::format("_design/{} specified by `use_index` could not be found or it is not suitable.", design)
            : fmt::format("_design/{}, {} specified by `use_index` could not be found or it is not suitable.", design,
                          request_.use_index[1]),
        "invalid_index");
  }
  warnings.push_back(
      request_.use_index.size() == 1
          ? fmt::format("_design/{} was not used because it does not contain a valid index for this query.", design)
          : fmt::format("_design/{}, {} was not used because it is not a valid index for this query.", design,
                        request_.use_index[1]));
  return {};
}

bool Planner::is_allowed(const Candidate& candidate) const {
  return candidate.usable && candidate.reason != "excluded_by_user";
}

// Only the surest plan waits for its index; other plans must be ready.
bool Planner::is_ready(const Candidate& candidate) const {
  return !candidate.index || candidate.index->ready(scope_.partition_id);
}

// All matches are needed: no walk ends early.
bool Planner::reads_everything() const {
  constexpr std::uint64_t wanted_max = std::numeric_limits<std::uint32_t>::max();
  return request_.is_aggregated || request_.matches_needed >= wanted_max;
}

// The candidates that take turns, in that order. Includes the surest, unless one candidate is cheap enough to run
// alone.
std::vector<std::size_t> Planner::choose(const std::vector<Candidate>& candidates, std::size_t sure) const {
  const bool by_order =
      std::ranges::any_of(candidates, [](const auto& one) { return one.reason == "excluded_by_user"; });
  const bool sorts = !request_.sort.empty() && !candidates[sure].serves_sort;
  if (reads_everything() || by_order || !is_ready(candidates[sure])) return {sure};
  std::vector<std::size_t> walks;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    const bool ends_at_limit = request_.sort.empty() || candidate.serves_sort;
    if (!is_allowed(candidate) || !ends_at_limit || candidate.leaves_out || !is_ready(candidate)) continue;
    if (candidate.joined) continue;
    // Without a sort, a walk over all documents never ends before a walk over some of them.
    const bool everything = !candidate.index && request_.sort.empty() && candidate.rows == documents_;
    if (i != sure && everything) continue;
    walks.push_back(i);
  }
  std::ranges::stable_sort(walks, [&](std::size_t a, std::size_t b) {
    const bool goes_on_a = is_pinned(candidates[a]);
    if (goes_on_a != is_pinned(candidates[b])) return goes_on_a;
    return candidates[a].expected < candidates[b].expected;
  });
  // Among equal costs, better() has decided already.
  const auto surest = std::ranges::find(walks, sure);
  if (surest != walks.end() && !is_pinned(candidates[walks[0]]) &&
      candidates[sure].expected <= same_cost * candidates[walks[0]].expected) {
    std::rotate(walks.begin(), surest, surest + 1);
  }
  if (sorts) {
    if (walks.empty()) return {sure};
    return {walks[0], sure};
  }
  if (walks.empty()) return {sure};
  if (walks.size() > turns_max) {
    const auto position = std::ranges::find(walks, sure);
    if (position - walks.begin() >= static_cast<std::ptrdiff_t>(turns_max)) walks[turns_max - 1] = sure;
    walks.resize(turns_max);
  }
  if (candidates[walks[0]].most <= runs_alone_max) return {walks[0]};
  return walks;
}

Plan Planner::plan_of(const Candidate& candidate, const std::vector<Candidate>& candidates) const {
  Plan plan;
  const bool nothing = candidate.index ? candidate.bounds.ranges.empty() : candidate.id_ranges.empty();
  if (!nothing || candidate.index) {
    plan.branches.push_back(branch_of(candidate, request_.selector));
    add_filters(plan.branches.back(), candidate, candidates);
    if (!candidate.sort_descending || request_.sort.empty() || !candidate.serves_sort) {
      add_leaps(plan.branches.back(), candidate, candidates);
    }
  }
  plan.sort_in_memory = !request_.sort.empty() && !candidate.serves_sort;
  plan.order_may_lapse =
      !request_.sort.empty() && !plan.sort_in_memory && candidate.index && candidate.index->definition->automatic;
  plan.descending = !plan.sort_in_memory && candidate.sort_descending;
  plan.covering = candidate.covering && candidate.index.has_value() && !plan.sort_in_memory;
  if (candidate.leaves_out && !plan.covering) {
    // A document may have changed since its entry was written: the filter is tested, too.
    Branch& branch = plan.branches.back();
    branch.selector = Selector::both(*branch.index->definition->partial_filter, branch.selector);
  }
  plan.expected = candidate.expected;
  plan.most = candidate.most;
  plan.matching = candidate.matching;
  return plan;
}

Expected<PlannerResult> Planner::run() {
  PlannerResult result;
  if (request_.matches_nothing) {
    result.plans.emplace_back();
    result.candidates.push_back(examine_primary(request_.selector));
    result.candidates[0].chosen = true;
    return result;
  }
  OCTAVO_TRY(const auto documents, statistics_.documents());
  documents_ = documents.count;
  document_price_ = partitioning::charge_of_scan(
      {.partitions = 0, .documents = 1, .document_bytes = static_cast<std::uint64_t>(documents.average_bytes)});
  OCTAVO_TRY(auto candidates, examine_all({request_.selector, request_.ordinal ? &*request_.ordinal : nullptr}));
  std::vector<std::string> warnings;
  if (!request_.use_index.empty()) OCTAVO_TRY_VOID(check_use_index(candidates, warnings));

  const bool forced = std::ranges::any_of(candidates, [](const auto& one) { return one.reason == "excluded_by_user"; });
  std::optional<std::size_t> sure;
  bool has_pinned = false;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!is_allowed(candidate)) continue;
    has_pinned = has_pinned || is_pinned(candidate);
    if (candidate.joined && !forced) continue;
    if (!sure || surer(candidate, candidates[*sure])) sure = i;
  }
  const auto invalid_bookmark = [] {
    return fail(ErrorCode::index_gone, "The bookmark belongs to an index that this query cannot use.",
                "invalid_bookmark");
  };
  if (scope_.pinned_side) {
    OCTAVO_TRY(auto united, plan_union(candidates, std::nullopt));
    if (!united) return invalid_bookmark();
    add_warnings(*united, warnings);
    return *std::move(united);
  }
  if (!sure && request_.strict) {
    return fail(ErrorCode::no_usable_index, "No index exists for this sort, try indexing by the sort fields.",
                "no_usable_index");
  }
  if (!sure || (scope_.pinned && !has_pinned)) return invalid_bookmark();
  // A union is sorted in memory.
  const bool may_unite = !request_.strict || request_.sort.empty();
  if (may_unite && !(forced && candidates[*sure].index)) {
    OCTAVO_TRY(auto united, plan_union(candidates, *sure));
    if (united) {
      add_warnings(*united, warnings);
      return *std::move(united);
    }
  }
  auto chosen = choose(candidates, *sure);
  // A page continues with the plan that ended the previous page.
  if (scope_.pinned && !is_pinned(candidates[chosen[0]])) {
    const auto pinned =
        std::ranges::find_if(candidates, [&](const auto& one) { return is_allowed(one) && is_pinned(one); });
    chosen = {static_cast<std::size_t>(pinned - candidates.begin())};
  }
  const std::size_t first = chosen[0];
  const bool by_primary = !candidates[first].index;
  if (by_primary && !request_.allow_fallback) {
    return fail(ErrorCode::bad_request, "There is no index that serves this query, and `allow_fallback` is false.",
                "no_usable_index");
  }
  for (const std::size_t number : chosen) {
    if (number == *sure) result.sure = result.plans.size();
    result.plans.push_back(plan_of(candidates[number], candidates));
  }
  if (by_primary) warnings.emplace_back(no_index_warning);
  add_warnings(result, warnings);
  rank(candidates, first);
  result.candidates = std::move(candidates);
  return result;
}

Expected<PlannerResult> plan_query(const PlanRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
                                   PlannerStatistics& statistics) {
  return Planner(request, catalog, scope, statistics).run();
}

}  // namespace octavo::query
