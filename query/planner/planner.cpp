#include "query/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/planner/sort_fit.h"

namespace octavo::query {

namespace {

namespace json = boost::json;

constexpr std::uint64_t kCountCap = 128;
constexpr std::size_t kUnionBranchesMax = 16;
constexpr std::string_view kNoIndexWarning = "No matching index found, create an index to optimize query time.";

// Microseconds per row, measured on warm pages. Only their proportions matter.
constexpr double kEntryCost = 0.25;  // step of an index cursor
constexpr double kFetchCost = 1.0;   // document by id
constexpr double kScanCost = 0.35;   // step of the document cursor
constexpr double kMatchCost = 0.8;   // parse and test
constexpr double kSortCost = 0.6;
constexpr double kRangeCost = 0.6;  // seek
// A walk over all documents reads cold pages that an index would not touch; what it costs the others is not measured
// here. So an index that narrows at all is preferred.
constexpr double kFullScanFactor = 2.5;
constexpr double kFullScanBase = 50;

// The share of rows taken to lie in ranges that were not counted to their end.
constexpr double kPointShare = 0.1;
constexpr double kRangeShare = 0.4;

bool is_design_name(std::string_view stored, std::string_view asked) {
  if (asked.starts_with("_design/")) return stored == asked;
  return stored.starts_with("_design/") && stored.substr(8) == asked;
}

bool is_named(const IndexView& view, const std::vector<std::string>& use_index) {
  if (use_index.empty()) return false;
  if (!is_design_name(view.definition->design_document, use_index[0])) return false;
  return use_index.size() == 1 || view.definition->name == use_index[1];
}

const FieldPath& id_path() {
  static const FieldPath path = *FieldPath::parse("_id");
  return path;
}

std::vector<IdRange> id_ranges_of(const FieldConstraint& constraint) {
  std::vector<IdRange> ranges;
  const auto text = [](const std::optional<json::value>& bound) -> std::optional<std::string> {
    if (!bound || !bound->is_string()) return std::nullopt;
    return std::string(bound->get_string());
  };
  for (const Interval& interval : constraint.intervals) {
    ranges.push_back({text(interval.lower), interval.lower_inclusive, text(interval.upper), interval.upper_inclusive});
  }
  return ranges;
}

class Planner {
 public:
  Planner(const FindRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
          PlannerStatistics& statistics)
      : request_(request), catalog_(catalog), scope_(scope), statistics_(statistics) {}

  Expected<PlannerResult> run();

 private:
  Candidate examine_primary(const Selector& selector) const;
  Candidate examine(const IndexView& view, const Selector& selector) const;
  bool is_covering(const Candidate& candidate, const Selector& selector) const;
  bool needs_recheck(const Candidate& candidate, const Selector& selector) const;
  Expected<void> estimate(Candidate& candidate, const Selector& selector);
  void price(Candidate& candidate, std::uint64_t matches) const;
  Expected<std::vector<Candidate>> examine_all(const Selector& selector);
  Expected<std::optional<PlannerResult>> plan_union(std::vector<Candidate>& single, double single_cost);
  std::vector<Selector> alternatives() const;
  Expected<void> check_use_index(std::vector<Candidate>& candidates, Plan& plan) const;
  void rank(std::vector<Candidate>& candidates, std::size_t chosen) const;
  static Branch branch_of(const Candidate& candidate, const Selector& selector);

  const FindRequest& request_;
  const IndexCatalog& catalog_;
  const PlannerScope& scope_;
  PlannerStatistics& statistics_;
  std::uint64_t documents_ = 0;
};

Candidate Planner::examine_primary(const Selector& selector) const {
  Candidate candidate;
  candidate.usable = true;
  FieldConstraint constraint = selector.constraint_for(id_path());
  candidate.id_ranges = id_ranges_of(constraint);
  const bool only_id =
      std::ranges::all_of(selector.fields_used(), [](const FieldPath& path) { return path.is("_id"); });
  candidate.recheck = !(only_id && constraint.exact && !selector.needs_whole_document());
  const auto& sort = request_.sort;
  candidate.serves_sort = sort.empty() || (sort.size() == 1 && sort[0].path.is("_id"));
  candidate.sort_descending = candidate.serves_sort && !sort.empty() && sort[0].descending;
  return candidate;
}

Candidate Planner::examine(const IndexView& view, const Selector& selector) const {
  Candidate candidate;
  candidate.index = view;
  const IndexDefinition& definition = *view.definition;
  if (definition.partitioned != scope_.partition_query) {
    candidate.reason = "scope_mismatch";
    candidate.detail = definition.partitioned ? "serves queries of one partition only" : "spans all partitions";
    return candidate;
  }
  if (definition.partial_filter && !selector.implies(*definition.partial_filter)) {
    candidate.reason = "is_partial";
    candidate.detail = "the selector may match documents that its partial_filter_selector leaves out";
    return candidate;
  }
  candidate.bounds = bounds_for(definition, selector, request_.sort);
  const SortFit fit = fit_sort(definition, candidate.bounds, request_.sort);
  candidate.serves_sort = fit.serves;
  candidate.sort_descending = fit.serves && fit.descending;
  candidate.recheck = needs_recheck(candidate, selector);
  candidate.covering = is_covering(candidate, selector);
  const bool serves_sort = !request_.sort.empty() && fit.serves;
  // An aggregation reads all matches; entries are shorter than documents.
  const bool spares_documents = request_.aggregation && candidate.covering;
  if (!candidate.bounds.narrows() && !definition.partial_filter && !serves_sort && !spares_documents) {
    candidate.reason = "field_mismatch";
    candidate.detail = "the selector says nothing of its first field, " + definition.fields[0].path.text();
    return candidate;
  }
  for (std::size_t i = 0; i < definition.fields.size(); ++i) {
    const auto& path = definition.fields[i].path;
    const bool sorted_by = std::ranges::any_of(request_.sort, [&](const auto& field) { return field.path == path; });
    const bool sure = i < candidate.bounds.columns_used && candidate.bounds.column_exists[i];
    if (sorted_by && !sure) candidate.columns_that_must_exist.push_back(i);
  }
  if (!view.ready(scope_.place) && scope_.ignore_unbuilt) {
    candidate.reason = "not_built";
    candidate.detail = "it is still being built";
    return candidate;
  }
  if (view.global && scope_.ignore_global) {
    candidate.reason = "not_current";
    candidate.detail = "it cannot be updated now";
    return candidate;
  }
  candidate.usable = true;
  return candidate;
}

// The ranges, and the filter of a partial index, may say all that the selector says.
bool Planner::needs_recheck(const Candidate& candidate, const Selector& selector) const {
  if (selector.needs_whole_document()) return true;
  const IndexDefinition& definition = *candidate.index->definition;
  for (const FieldPath& path : selector.fields_used()) {
    const FieldConstraint wanted = selector.constraint_for(path);
    if (!wanted.exact) return true;
    bool told = false;
    for (std::size_t i = 0; i < candidate.bounds.columns_used; ++i) {
      told = told || (definition.fields[i].path == path && candidate.bounds.column_exact[i]);
    }
    if (!told && definition.partial_filter) {
      const FieldConstraint filtered = definition.partial_filter->constraint_for(path);
      told = is_subset(filtered, wanted, path.is("_id") ? BoundOrder::raw : BoundOrder::collation);
    }
    if (!told) return true;
  }
  return false;
}

bool Planner::is_covering(const Candidate& candidate, const Selector& selector) const {
  if (request_.fields.empty() || request_.conflicts) return false;
  const IndexDefinition& definition = *candidate.index->definition;
  const auto held = [&](const FieldPath& path) {
    return path.is("_id") ||
           std::ranges::any_of(definition.fields, [&](const auto& field) { return field.path == path; });
  };
  if (!std::ranges::all_of(request_.fields, held)) return false;
  if (!candidate.recheck) return true;
  // The test runs on what the entry has: it must be all the selector looks at, and an absent field must not matter, as
  // the entry does not say why it is absent.
  if (selector.needs_whole_document()) return false;
  return std::ranges::all_of(selector.fields_used(), [&](const FieldPath& path) {
    return held(path) && selector.constraint_for(path).requires_exists();
  });
}

Expected<void> Planner::estimate(Candidate& candidate, const Selector& selector) {
  RowCount counted;
  std::uint64_t total = documents_;
  double share = kRangeShare;
  if (candidate.index) {
    if (candidate.bounds.ranges.empty()) {
      candidate.rows_exact = true;
      return {};
    }
    if (!candidate.index->ready(scope_.place)) {
      candidate.rows = static_cast<std::uint64_t>(
          static_cast<double>(total) * std::pow(kRangeShare, static_cast<double>(candidate.bounds.columns_used)));
      return {};
    }
    OCTAVO_TRY(total, statistics_.entries(*candidate.index));
    if (!candidate.bounds.narrows()) {
      candidate.rows = total;
      candidate.rows_exact = true;
      return {};
    }
    OCTAVO_TRY(counted, statistics_.count(*candidate.index, candidate.bounds.ranges, kCountCap));
    const auto points = static_cast<double>(candidate.bounds.point_columns);
    if (points > 0) share = std::pow(kPointShare, points);
  } else {
    const FieldConstraint constraint = selector.constraint_for(id_path());
    if (constraint.is_everything() || (constraint.may_be_missing && constraint.intervals.empty())) {
      candidate.rows = total;
      candidate.rows_exact = true;
      return {};
    }
    OCTAVO_TRY(counted, statistics_.count_ids(candidate.id_ranges, kCountCap));
  }
  candidate.rows = counted.rows;
  candidate.rows_exact = !counted.capped;
  if (counted.capped) {
    const auto guess = static_cast<std::uint64_t>(static_cast<double>(total) * share);
    candidate.rows = std::max(counted.rows, std::min(total, guess));
  }
  return {};
}

// `matches`: how many documents match at most, as far as is known.
void Planner::price(Candidate& candidate, std::uint64_t matches) const {
  const bool sort = !request_.sort.empty() && !candidate.serves_sort;
  const auto rows = static_cast<double>(candidate.rows);
  double examined = rows;
  if (!sort) {
    const auto wanted = static_cast<double>(request_.matches_needed());
    double hit_share = 1.0;
    if (candidate.recheck && rows > 0) {
      // Half of the narrowest index's rows: a guess that keeps a walk with tests from looking free.
      hit_share = std::clamp(static_cast<double>(matches) / rows, 0.0001, 0.5);
    }
    examined = std::min(rows, wanted / hit_share);
  }
  const bool reads_documents = candidate.recheck || request_.aggregation;
  double per_row = reads_documents && !candidate.covering ? kMatchCost : 0.0;
  double base = 0;
  if (candidate.index) {
    per_row += kEntryCost + (candidate.covering ? 0.1 : kFetchCost);
    base = kRangeCost * static_cast<double>(candidate.bounds.ranges.size());
  } else {
    per_row += kScanCost;
    const bool all = candidate.id_ranges.size() == 1 && !candidate.id_ranges[0].start && !candidate.id_ranges[0].end;
    if (all) {
      if (!request_.selector.fields_used().empty() || sort) {
        per_row *= kFullScanFactor;
        base = kFullScanBase;
      }
    } else {
      base = kRangeCost * static_cast<double>(candidate.id_ranges.size());
    }
  }
  candidate.cost = base + examined * per_row + (sort ? rows * kSortCost : 0.0);
}

Expected<std::vector<Candidate>> Planner::examine_all(const Selector& selector) {
  std::vector<Candidate> candidates;
  candidates.push_back(examine_primary(selector));
  for (const IndexView& view : catalog_.indexes) candidates.push_back(examine(view, selector));
  std::uint64_t matches = documents_;
  for (Candidate& candidate : candidates) {
    if (!candidate.usable) continue;
    OCTAVO_TRY_VOID(estimate(candidate, selector));
    matches = std::min(matches, candidate.rows);
  }
  for (Candidate& candidate : candidates) {
    if (candidate.usable) price(candidate, matches);
  }
  return candidates;
}

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

// True when `a` is to be preferred.
bool better(const Candidate& a, const Candidate& b) {
  if (a.cost != b.cost) return a.cost < b.cost;
  if (a.index.has_value() != b.index.has_value()) return a.index.has_value();
  if (!a.index) return false;
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
std::vector<Selector> Planner::alternatives() const {
  const json::value whole = request_.selector.to_json();
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
      auto selector = Selector::parse(json::object{{"$and", std::move(joined)}});
      if (!selector) return {};
      selectors.push_back(*std::move(selector));
    }
    return selectors;
  }
  return {};
}

Expected<std::optional<PlannerResult>> Planner::plan_union(std::vector<Candidate>& single, double single_cost) {
  const std::vector<Selector> sides = alternatives();
  if (sides.empty()) return std::nullopt;
  PlannerResult result;
  double cost = 0;
  for (const Selector& side : sides) {
    OCTAVO_TRY(auto candidates, examine_all(side));
    const Candidate* best = nullptr;
    for (Candidate& candidate : candidates) {
      const bool all_documents = !candidate.index && candidate.id_ranges.size() == 1 && !candidate.id_ranges[0].start &&
                                 !candidate.id_ranges[0].end;
      if (!candidate.usable || all_documents) continue;
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

// What was said of use_index comes before what the plan itself has to say.
void add_warnings(PlannerResult& result, const std::vector<std::string>& before) {
  result.plan.warnings.insert(result.plan.warnings.begin(), before.begin(), before.end());
}

Expected<PlannerResult> Planner::run() {
  PlannerResult result;
  if (request_.matches_nothing) {
    result.candidates.push_back(examine_primary(request_.selector));
    result.candidates[0].chosen = true;
    return result;
  }
  OCTAVO_TRY(documents_, statistics_.documents());
  OCTAVO_TRY(auto candidates, examine_all(request_.selector));
  if (!request_.use_index.empty()) OCTAVO_TRY_VOID(check_use_index(candidates, result.plan));

  std::optional<std::size_t> chosen;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& candidate = candidates[i];
    if (!candidate.usable || candidate.reason == "excluded_by_user") continue;
    if (scope_.pinned) {
      const std::string_view identity = candidate.index ? std::string_view(candidate.index->definition->identity) : "";
      if (identity == *scope_.pinned) chosen = chosen.value_or(i);
    } else if (!chosen || better(candidate, candidates[*chosen])) {
      chosen = i;
    }
  }
  const auto invalid_bookmark = [] {
    return fail(ErrorCode::bad_request, "The bookmark belongs to an index that this query cannot use.",
                "invalid_bookmark");
  };
  if (scope_.pinned == PlannerScope::kUnion) {
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
  if (!nothing || winner.index) plan.branches.push_back(branch_of(winner, request_.selector));
  plan.sort_in_memory = !request_.sort.empty() && !winner.serves_sort;
  plan.descending = !plan.sort_in_memory && winner.sort_descending;
  plan.covering = winner.covering && winner.index.has_value() && !plan.sort_in_memory;
  plan.estimated_cost = winner.cost;
  if (by_primary) {
    plan.warnings.emplace_back(kNoIndexWarning);
  }
  rank(candidates, *chosen);
  result.candidates = std::move(candidates);
  return result;
}

}  // namespace

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
