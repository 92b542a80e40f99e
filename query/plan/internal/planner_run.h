#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "query/plan/planner.h"

namespace octavo::query {

/// Maximum number of plans that take turns: the position of each must be remembered.
inline constexpr std::size_t turns_max = 4;
/// A plan that certainly costs no more than the first turn runs alone.
inline constexpr double runs_alone_max = 1;  // RU
/// Costs within this factor count as equal, because sizes are estimates; other criteria decide then.
inline constexpr double same_cost = 1.1;
inline constexpr std::string_view no_index_warning = "No matching index found, create an index to optimize query time.";

/// The field `_id`.
const FieldPath& id_path();
/// Whether `use_index` names the index: by its design document alone, or together with its own name.
bool is_named(const IndexView& view, const std::vector<std::string>& use_index);
/// The conditions of a query, or of one side of a union.
struct Condition {
  const Selector& selector;
  const Selector* ordinal = nullptr;  ///< PlanRequest::ordinal
};

/// One run of plan_query.
class Planner {
 public:
  Planner(const PlanRequest& request, const IndexCatalog& catalog, const PlannerScope& scope,
          PlannerStatistics& statistics)
      : request_(request), catalog_(catalog), scope_(scope), statistics_(statistics) {}

  Expected<PlannerResult> run();
  static std::vector<Selector> alternatives(const Selector& selector);

 private:
  Candidate examine_primary(const Selector& selector) const;
  Expected<Candidate> examine(const IndexView& view, const Condition& condition);
  bool serves_sort(const IndexView& view, const Condition& condition, Candidate& candidate) const;
  bool is_covering(const Candidate& candidate, const Selector& selector) const;
  bool needs_recheck(const Candidate& candidate, const Selector& selector) const;
  Expected<void> estimate(Candidate& candidate, const Selector& selector);
  Expected<void> estimate_all(std::vector<Candidate>& candidates, const Selector& selector);
  double matching_share(const std::vector<Candidate>& candidates, const Selector& selector) const;
  void price(Candidate& candidate, const std::vector<Candidate>& candidates, double matches) const;
  Expected<std::vector<Candidate>> examine_all(const Condition& condition);
  void keep_to_strict_rules(std::vector<Candidate>& candidates) const;
  bool needs_absences(const FieldPath& path, const Condition& condition) const;
  std::vector<IndexView> automatic_views(const Condition& condition) const;
  void expect_matches(Candidate& candidate, double matches) const;
  // planner_union.cpp
  Expected<std::optional<Plan>> union_of(const std::vector<Selector>& sides, double& matches);
  std::optional<std::vector<std::size_t>> walks_beside_union(const std::vector<Candidate>& single, std::size_t sure,
                                                             const Plan& plan) const;
  Expected<std::optional<PlannerResult>> plan_union(std::vector<Candidate>& single, std::optional<std::size_t> sure);
  Expected<void> check_use_index(std::vector<Candidate>& candidates, std::vector<std::string>& warnings) const;
  void rank(std::vector<Candidate>& candidates, std::size_t chosen) const;
  bool is_pinned(const Candidate& candidate) const;
  static bool better(const Candidate& a, const Candidate& b, double cost_a, double cost_b);
  static bool surer(const Candidate& a, const Candidate& b) { return better(a, b, a.most, b.most); }
  static bool likelier(const Candidate& a, const Candidate& b) { return better(a, b, a.expected, b.expected); }
  bool is_allowed(const Candidate& candidate) const;
  bool is_ready(const Candidate& candidate) const;
  bool reads_everything() const;
  std::vector<std::size_t> choose(const std::vector<Candidate>& candidates, std::size_t sure) const;
  Plan plan_of(const Candidate& candidate, const std::vector<Candidate>& candidates) const;
  static bool is_filter_of(const Candidate& other, const Candidate& walked);
  bool is_of_values(const Candidate& candidate) const;
  void join_values(std::vector<Candidate>& candidates) const;
  static void add_leaps(Branch& branch, const Candidate& walked, const std::vector<Candidate>& candidates);
  void add_filters(Branch& branch, const Candidate& walked, const std::vector<Candidate>& candidates) const;
  static Branch branch_of(const Candidate& candidate, const Selector& selector);

  const PlanRequest& request_;
  const IndexCatalog& catalog_;
  const PlannerScope& scope_;
  PlannerStatistics& statistics_;
  std::uint64_t documents_ = 0;
  double document_price_ = 0;  ///< RU to load one document
};

}  // namespace octavo::query
