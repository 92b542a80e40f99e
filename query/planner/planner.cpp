#include "query/planner/planner.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/planner/internal/planner_run.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::size_t kUnionBranchesMax = 16;
// Each is looked for until one is found: more would cost as much as the document.
constexpr std::size_t kFilterKeysMax = 3;
constexpr std::string_view kNoIndexWarning = "No matching index found, create an index to optimize query time.";

// What was said of use_index comes before what the plan itself has to say.
void add_warnings(PlannerResult& result, const std::vector<std::string>& before) {
  result.plan.warnings.insert(result.plan.warnings.begin(), before.begin(), before.end());
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

// Entries of one value stand in order of their documents, and so do those of another: what both have is found without a
// document that has only the first.
void Planner::add_filters(Branch& branch, const std::vector<Candidate>& candidates) const {
  const auto is_value = [](const KeyRange& range) {
    return range.end.size() == range.begin.size() + 1 && range.end.starts_with(range.begin);
  };
  if (!branch.index || !branch.index->definition->automatic_path || branch.bounds.point_columns == 0) return;
  for (const Candidate& other : candidates) {
    if (!other.usable || !other.index || !other.index->definition->automatic_path) continue;
    const IndexDefinition& definition = *other.index->definition;
    const auto& ranges = other.bounds.ranges;
    const bool walked = definition.automatic_path == branch.index->definition->automatic_path;
    if (walked || definition.fields.size() != 1 || ranges.empty() || ranges.size() > kFilterKeysMax) continue;
    if (!std::ranges::all_of(ranges, is_value)) continue;
    EntryCondition& condition = branch.filters.emplace_back();
    condition.field = definition.fields[0].path.text();
    condition.path = *definition.automatic_path;
    for (const KeyRange& range : ranges) condition.keys.push_back(range.begin);
  }
}

bool Planner::is_pinned(const Candidate& candidate) const {
  const std::string_view identity = candidate.index ? std::string_view(candidate.index->definition->identity) : "";
  return scope_.pinned && *scope_.pinned == identity;
}

// True when `a` is to be preferred.
bool Planner::better(const Candidate& a, const Candidate& b) {
  // Of the indexes of one design document, that is; what is found must not hang on what it costs.
  if (a.leaves_out != b.leaves_out) return !a.leaves_out;
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.index.has_value() != b.index.has_value()) return a.index.has_value();
  if (!a.index) return false;
  // The indexes that somebody made cover more than the one that came by itself.
  const bool automatic = a.index->definition->automatic != nullptr;
  if (automatic != (b.index->definition->automatic != nullptr)) return !automatic;
  if (a.bounds.columns_used != b.bounds.columns_used) return a.bounds.columns_used > b.bounds.columns_used;
  const auto& x = *a.index->definition;
  const auto& y = *b.index->definition;
  if (x.fields.size() != y.fields.size()) return x.fields.size() < y.fields.size();
  return std::pair(x.design_document, x.name) < std::pair(y.design_document, y.name);
}

void Planner::rank(std::vector<Candidate>& candidates, std::size_t chosen) const {
  Candidate winner = candidates[chosen];
  winner.chosen = true;
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
    } else if (candidate.cost > winner.cost) {
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
  std::ranges::stable_sort(candidates, [&](const Candidate& a, const Candidate& b) {
    if (group(a) != group(b)) return group(a) < group(b);
    return group(a) == 1 && better(a, b);
  });
  for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].ranking = i;
}

// Obeys use_index: the others are excluded when the named one can be used.
Expected<void> Planner::check_use_index(std::vector<Candidate>& candidates, Plan& plan) const {
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
  plan.warnings.push_back(
      request_.use_index.size() == 1
          ? fmt::format("_design/{} was not used because it does not contain a valid index for this query.", design)
          : fmt::format("_design/{}, {} was not used because it is not a valid index for this query.", design,
                        request_.use_index[1]));
  return {};
}

// The sides of a `$or` at the top, or directly inside the `$and` there; each with the other conditions.
std::vector<Selector> Planner::alternatives(const Selector& selector) {
  const json::value whole = selector.to_json();
  if (!whole.is_object()) return {};
  json::array conditions;
  if (const auto* all = whole.get_object().if_contains("$and"); all && all->is_array()) {
    conditions = all->get_array();
  } else {
    conditions.push_back(whole);
  }
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const auto* sides = conditions[i].is_object() ? conditions[i].get_object().if_contains("$or") : nullptr;
    if (!sides || !sides->is_array()) continue;
    if (sides->get_array().size() < 2 || sides->get_array().size() > kUnionBranchesMax) continue;
    std::vector<Selector> selectors;
    for (const auto& side : sides->get_array()) {
      json::array joined{side};
      for (std::size_t k = 0; k < conditions.size(); ++k) {
        if (k != i) joined.push_back(conditions[k]);
      }
      auto alternative = Selector::parse(json::object{{"$and", std::move(joined)}});
      if (!alternative) return {};
      selectors.push_back(*std::move(alternative));
    }
    return selectors;
  }
  return {};
}

Expected<std::optional<PlannerResult>> Planner::plan_union(std::vector<Candidate>& single, double single_cost) {
  const std::vector<Selector> sides = alternatives(request_.selector);
  if (sides.empty() || (scope_.pinned_side && *scope_.pinned_side >= sides.size())) return std::nullopt;
  PlannerResult result;
  double cost = 0;
  for (const Selector& side : sides) {
    // What a side has returned already is told by its selector alone: its ranges must not be narrower than that.
    OCTAVO_TRY(auto candidates, examine_all({side, nullptr}));
    const bool goes_on = scope_.pinned_side && *scope_.pinned_side == result.plan.branches.size();
    const Candidate* best = nullptr;
    for (Candidate& candidate : candidates) {
      const bool all_documents = !candidate.index && candidate.id_ranges.size() == 1 && !candidate.id_ranges[0].start &&
                                 !candidate.id_ranges[0].end;
      if (!candidate.usable || candidate.leaves_out || all_documents || (goes_on && !is_pinned(candidate))) continue;
      candidate.covering = false;
      if (!best || better(candidate, *best)) best = &candidate;
    }
    if (!best) return std::nullopt;
    cost += best->cost;
    result.plan.branches.push_back(branch_of(*best, side));
  }
  const auto rows_sorted = request_.sort.empty() ? 0.0 : kSortCost;
  if (cost * (1 + rows_sorted) >= single_cost) return std::nullopt;
  result.plan.sort_in_memory = !request_.sort.empty();
  result.plan.estimated_cost = cost;
  const bool by_index =
      std::ranges::any_of(result.plan.branches, [](const Branch& branch) { return branch.index.has_value(); });
  if (!by_index) result.plan.warnings.emplace_back(kNoIndexWarning);
  for (Candidate& candidate : single) {
    candidate.chosen = std::ranges::any_of(result.plan.branches, [&](const Branch& branch) {
      return branch.index && candidate.index &&
             branch.index->definition->identity == candidate.index->definition->identity;
    });
    if (candidate.chosen) {
      candidate.usable = true;
      candidate.reason = "union";
      candidate.detail = "serves one side of an $or";
    } else if (candidate.usable && candidate.reason.empty()) {
      candidate.reason = candidate.index ? "higher_cost" : "unfavored_type";
    }
  }
  std::ranges::stable_sort(single, [](const Candidate& a, const Candidate& b) { return a.chosen && !b.chosen; });
  for (std::size_t i = 0; i < single.size(); ++i) single[i].ranking = i;
  result.candidates = std::move(single);
  return result;
}

Expected<PlannerResult> Planner::run() {
  PlannerResult result;
  if (request_.matches_nothing) {
    result.candidates.push_back(examine_primary(request_.selector));
    result.candidates[0].chosen = true;
    return result;
  }
  OCTAVO_TRY(documents_, statistics_.documents());
  OCTAVO_TRY(auto candidates, examine_all({request_.selector, request_.ordinal ? &*request_.ordinal : nullptr}));
  if (!request_.use_index.empty()) OCTAVO_TRY_VOID(check_use_index(candidates, result.plan));

  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.usable || candidate.reason == "excluded_by_user") continue;
    if (scope_.pinned) {
      if (is_pinned(candidate)) chosen = chosen.value_or(i);
    } else if (!chosen || better(candidate, candidates[*chosen])) {
      chosen = i;
    }
  }
  const auto invalid_bookmark = [] {
    return fail(ErrorCode::bad_request, "The bookmark belongs to an index that this query cannot use.",
                "invalid_bookmark");
  };
  if (scope_.pinned_side) {
    OCTAVO_TRY(auto united, plan_union(candidates, std::numeric_limits<double>::infinity()));
    if (!united) return invalid_bookmark();
    add_warnings(*united, result.plan.warnings);
    return *std::move(united);
  }
  if (!chosen) return invalid_bookmark();
  const bool by_primary = !candidates[*chosen].index;
  const bool by_order = !by_primary && std::ranges::any_of(candidates, [](const auto& other) {
    return other.reason == "excluded_by_user";
  });
  if (!scope_.pinned && !by_order) {
    OCTAVO_TRY(auto united, plan_union(candidates, candidates[*chosen].cost));
    if (united) {
      add_warnings(*united, result.plan.warnings);
      return *std::move(united);
    }
  }
  if (by_primary && !request_.allow_fallback) {
    return fail(ErrorCode::bad_request, "There is no index that serves this query, and `allow_fallback` is false.",
                "no_usable_index");
  }

  Candidate& winner = candidates[*chosen];
  Plan& plan = result.plan;
  const bool nothing = winner.index ? winner.bounds.ranges.empty() : winner.id_ranges.empty();
  if (!nothing || winner.index) {
    plan.branches.push_back(branch_of(winner, request_.selector));
    add_filters(plan.branches.back(), candidates);
  }
  plan.sort_in_memory = !request_.sort.empty() && !winner.serves_sort;
  plan.order_may_lapse =
      !request_.sort.empty() && !plan.sort_in_memory && winner.index && winner.index->definition->automatic;
  plan.descending = !plan.sort_in_memory && winner.sort_descending;
  plan.covering = winner.covering && winner.index.has_value() && !plan.sort_in_memory;
  if (winner.leaves_out && !plan.covering) {
    // A document that is tested may have changed since its entry was written.
    Branch& branch = plan.branches.back();
    branch.selector = Selector::both(*branch.index->definition->partial_filter, branch.selector);
  }
  plan.estimated_cost = winner.cost;
  if (by_primary) {
    plan.warnings.emplace_back(kNoIndexWarning);
  }
  rank(candidates, *chosen);
  result.candidates = std::move(candidates);
  return result;
}

Expected<PlannerResult> plan_query(const FindRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
                                   PlannerStatistics& statistics) {
  return Planner(request, catalog, scope, statistics).run();
}

Error missing_sort_index(const FindRequest& request, bool database_is_partitioned) {
  std::string_view kind = "index";
  if (database_is_partitioned) kind = request.partition.empty() ? "global index" : "partitioned index";
  json::object index{{"index", json::object{{"fields", ordered_fields_to_json(request.sort)}}}, {"type", "json"}};
  if (database_is_partitioned) index["partitioned"] = !request.partition.empty();
  return Error{ErrorCode::no_usable_index,
               fmt::format("No {} exists for this sort, try indexing by the sort fields. The result is too large to be "
                           "sorted in memory; POST to _index: {}",
                           kind, json::serialize(index)),
               "no_usable_index"};
}

}  // namespace octavo::query
