#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "query/planner/plan.h"

namespace octavo::query {

/// Which of the plans of a query runs, and for how long: nobody knows before reading how far a walk must go until its
/// page is full, but what the surest plan costs at most, the *bound*, is known. So every other plan has a budget
/// measured by that, and is left when it has spent it; what a query costs stays below 1.5 times the bound and
/// 1 RU, or twice the bound where a walk was nearly done.
///
/// - One plan runs to its end.
/// - Two, of which the surest sorts: the walk in order has half of the bound if it is expected to cost less, otherwise
///   a quarter, but 1 RU at least. While what was found so far says that a quarter more will fill the page, it has
///   that, up to the whole bound. Then the surest runs to its end.
/// - All end at the limit: they take turns. The first, and each that is expected to cost no more than 16 times a turn,
///   reads as far as a turn allows, a quarter of it until the first has cost what was expected of it; each round allows
///   half as much again. Once the others have cost half of the bound together, the surest runs to its end.
///
/// Costs are request units of entries and documents read (plan.h). No clock and no chance: equal requests on equal data
/// cost the same. A value without ownership; one thread.
class PlanTurns {
 public:
  /// `plans` by rising expectation; the first of them begins. `sure`: number of the surest. `spent`: by plan, what it
  /// cost before (on pages that ended before they were full).
  PlanTurns(std::span<const Plan> plans, std::size_t sure, std::vector<double> spent = {});

  std::size_t current() const { return current_; }
  /// What the current plan may have cost in all when its turn is over; infinite: it runs to its end.
  double allowed() const { return allowed_; }
  /// The turn of the current plan is over. It has cost `spent` in all and found this share of the page, 0 to 1. True:
  /// another plan is current now.
  bool end_turn(double spent, double found = 0);
  /// The current plan runs to its end, whatever it costs: the others cannot.
  void stay();

 private:
  void begin_turn();
  bool takes_part(std::size_t plan) const;

  std::vector<double> expected_;
  std::vector<double> spent_;
  std::size_t sure_;
  bool sure_sorts_;
  double bound_;
  double hoped_ = 0;   ///< of the first plan
  double round_ = 0;   ///< what a turn of this round allows
  double others_ = 0;  ///< what all but the surest have cost
  std::size_t current_ = 0;
  double allowed_ = 0;
};

}  // namespace octavo::query
