#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "query/plan/plan.h"

namespace octavo::query {

/// Decides which of the plans of a query runs, and for how long. How far a walk must go until its page is full is
/// unknown before reading, but what the surest plan costs at most, the *bound*, is known. So every other plan has a
/// budget relative to the bound, and is left when it has spent it. A query costs less than 1.5 times the bound plus 1
/// RU, or twice the bound if a walk was nearly done.
///
/// - One plan runs to its end.
/// - Two, and the surest sorts: the walk in order has a budget of half the bound if it is expected to cost less than
///   the bound, otherwise a quarter, but at least 1 RU. While the results so far predict that another quarter will fill
///   the page, the walk gets it, up to the whole bound. Then the surest runs to its end.
/// - All end at the limit: they take turns. The first plan, and each that is expected to cost at most 16 times a turn,
///   reads as far as a turn allows; the others only a quarter of that until the first has cost what was expected of it.
///   Each round allows half as much again. Once the others together have cost half of the bound, the surest runs to its
///   end.
///
/// Costs are request units of entries and documents read (plan.h). Neither time nor chance matters: equal requests on
/// equal data cost the same. A value without ownership; one thread.
class PlanTurns {
 public:
  /// `plans` in ascending order of expected cost; the first one begins. `sure`: number of the surest. `spent`: by plan,
  /// what it has cost before (on pages that ended before they were full). `share`: the part that is read of what the
  /// plans are expected to cost.
  PlanTurns(std::span<const Plan> plans, std::size_t sure, std::vector<double> spent = {}, double share = 1);

  std::size_t current() const { return current_; }
  /// What the current plan may have cost in total when its turn is over; infinite: it runs to its end.
  double allowed() const { return allowed_; }
  /// Ends the turn of the current plan, which has cost `spent` in total and found this share of the page, 0 to 1. True:
  /// another plan is current now.
  bool end_turn(double spent, double found = 0);
  /// Lets the current plan run to its end at any cost, because the others cannot.
  void stay();

 private:
  void begin_turn();
  bool takes_part(std::size_t plan) const;

  std::vector<double> expected_;
  std::vector<double> spent_;
  std::size_t sure_;
  bool sure_sorts_;
  double bound_;
  double hoped_ = 0;   ///< what the first plan is expected to cost
  double round_ = 0;   ///< what a turn of this round allows
  double others_ = 0;  ///< what all plans but the surest have cost
  std::size_t current_ = 0;
  double allowed_ = 0;
};

/// Whether a query that may cost `charge_max` request units, of which it costs `base` before it reads, may begin a plan
/// that cannot be stopped when the charge is reached.
bool fits_charge(const Plan& plan, double charge_max, double base);

}  // namespace octavo::query
