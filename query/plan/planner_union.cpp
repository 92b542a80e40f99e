// Plans a query with alternatives (`$or`) as a union: one branch for each alternative.
#include <algorithm>
#include <span>
#include <utility>

#include "query/plan/internal/planner_run.h"
#include "query/selector/selector_builder.h"

namespace octavo::query {

namespace {

constexpr std::size_t union_branches_max = 16;

// Whether a union can be left for another plan: what it has returned must be recognised on later pages, too.
bool can_be_left(const Plan& plan) {
  return !plan.sort_in_memory && std::ranges::all_of(plan.branches, [](const Branch& branch) {
    return branch.index && !branch.index->definition->automatic;
  });
}

}  // namespace

// The sides of a `$or` at the top level or directly inside a top-level `$and`, each combined with the other conditions.
std::vector<Selector> Planner::alternatives(const Selector& selector) {
  using Kind = SelectorNode::Kind;
  const SelectorNode& root = selector.root();
  const std::span<const SelectorNode> conditions =
      root.kind == Kind::conjunction ? std::span(root.children) : std::span(&root, 1);
  for (std::size_t i = 0; i < conditions.size(); ++i) {
    const std::vector<SelectorNode>& sides = conditions[i].children;
    if (conditions[i].kind != Kind::disjunction || sides.size() < 2 || sides.size() > union_branches_max) continue;
    std::vector<Selector> selectors;
    for (const SelectorNode& side : sides) {
      std::vector<SelectorNode> joined;
      joined.reserve(conditions.size());
      joined.push_back(side);
      for (std::size_t k = 0; k < conditions.size(); ++k) {
        if (k != i) joined.push_back(conditions[k]);
      }
      selectors.push_back(Selector::of(SelectorBuilder::all_of(std::move(joined))));
    }
    return selectors;
  }
  return {};
}

// One branch for each of `sides`, by the index that is the surest for it. `matches`: the estimated number of results.
Expected<std::optional<Plan>> Planner::union_of(const std::vector<Selector>& sides, double& matches) {
  Plan plan;
  double rows = 0;
  const auto wanted = static_cast<double>(request_.matches_needed);
  for (const Selector& side : sides) {
    // Whether an earlier side has returned a document is decided by its selector alone: its ranges must not be
    // narrower.
    OCTAVO_TRY(auto candidates, examine_all({side, nullptr}));
    const bool goes_on = scope_.pinned_side && *scope_.pinned_side == plan.branches.size();
    const Candidate* best = nullptr;
    for (Candidate& candidate : candidates) {
      const bool all_documents = !candidate.index && candidate.id_ranges.size() == 1 && !candidate.id_ranges[0].start &&
                                 !candidate.id_ranges[0].end;
      if (!candidate.usable || candidate.leaves_out || all_documents || (goes_on && !is_pinned(candidate))) continue;
      if (candidate.joined) continue;
      candidate.covering = false;
      if (!best || surer(candidate, *best)) best = &candidate;
    }
    if (!best) return std::nullopt;
    const double found = static_cast<double>(best->rows) * best->matching;
    // The share of this side that is read before the limit is reached.
    const double left = std::max(0.0, wanted - matches);
    plan.expected += best->most * (found > 0 ? std::min(1.0, left / found) : 1.0);
    plan.most += best->most;
    rows += static_cast<double>(best->rows);
    matches += found;
    plan.branches.push_back(branch_of(*best, side));
    add_leaps(plan.branches.back(), *best, candidates);
  }
  plan.sort_in_memory = !request_.sort.empty();
  if (plan.sort_in_memory || reads_everything()) plan.expected = plan.most;
  if (rows > 0) plan.matching = matches / rows;
  const bool by_index =
      std::ranges::any_of(plan.branches, [](const Branch& branch) { return branch.index.has_value(); });
  if (!by_index) plan.warnings.emplace_back(no_index_warning);
  return plan;
}

// The candidates that take turns with the union, or begin before it: walks that test the whole condition, and may reach
// the limit before the union does. nullopt: the walk that the previous page ended with cannot continue beside the
// union.
std::optional<std::vector<std::size_t>> Planner::walks_beside_union(const std::vector<Candidate>& single,
                                                                    std::size_t sure, const Plan& plan) const {
  std::vector<std::size_t> walks;
  if (plan.sort_in_memory) {
    if (scope_.pinned) return std::nullopt;
    if (request_.is_aggregated) return walks;
    for (std::size_t i = 0; i < single.size(); ++i) {
      if (!is_allowed(single[i]) || !single[i].serves_sort || !is_ready(single[i])) continue;
      if (walks.empty() || likelier(single[i], single[walks[0]])) walks = {i};
    }
    return walks;
  }
  const bool runs_alone = plan.most <= runs_alone_max && !scope_.pinned;
  if (!reads_everything() && !runs_alone && can_be_left(plan)) {
    for (const std::size_t i : choose(single, sure)) {
      // A walk over all documents ends early only by chance.
      if (walks.size() + 1 < turns_max && (single[i].index || is_pinned(single[i]))) walks.push_back(i);
    }
  }
  if (scope_.pinned && (walks.empty() || !is_pinned(single[walks[0]]))) return std::nullopt;
  return walks;
}

// `sure`: the surest of `single`; nullopt: the previous page ended with a side of the union. nullopt: there is no such
// union, or it costs more than that candidate.
Expected<std::optional<PlannerResult>> Planner::plan_union(std::vector<Candidate>& single,
                                                           std::optional<std::size_t> sure) {
  const std::vector<Selector> sides = alternatives(request_.selector);
  if (sides.empty() || (scope_.pinned_side && *scope_.pinned_side >= sides.size())) return std::nullopt;
  double matches = 0;
  OCTAVO_TRY(auto plan, union_of(sides, matches));
  if (!plan || (sure && plan->most >= single[*sure].most)) return std::nullopt;
  PlannerResult result;
  if (sure) {
    for (Candidate& candidate : single) {
      if (candidate.usable)
        expect_matches(candidate, std::min(matches, candidate.matching * static_cast<double>(candidate.rows)));
    }
    const auto walks = walks_beside_union(single, *sure, *plan);
    if (!walks) return std::nullopt;
    for (const std::size_t i : *walks) result.plans.push_back(plan_of(single[i], single));
  }
  for (Candidate& candidate : single) {
    candidate.chosen = std::ranges::any_of(plan->branches, [&](const Branch& branch) {
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
  // In the order of the expected costs, but a walk that is continued stays the first.
  auto position = result.plans.begin();
  if (scope_.pinned && position != result.plans.end()) ++position;
  if (!plan->sort_in_memory) {
    position = std::find_if(position, result.plans.end(),
                            [&](const Plan& walk) { return walk.expected * same_cost > plan->expected; });
  } else {
    position = result.plans.end();
  }
  result.sure = static_cast<std::size_t>(position - result.plans.begin());
  result.plans.insert(position, *std::move(plan));
  result.candidates = std::move(single);
  return result;
}

std::vector<Selector> sides_of_union(const Selector& selector) {
  return Planner::alternatives(selector);
}

}  // namespace octavo::query
