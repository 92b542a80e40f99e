#include "query/walk/plan_turns.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace octavo::query {

namespace {

constexpr double unlimited_budget = std::numeric_limits<double>::infinity();
constexpr double budget_min = 1;       // RU
constexpr double hopeful_share = 0.5;  // of the bound, for a walk that is expected to cost less
constexpr double doubtful_share = 0.25;
constexpr double nearly_done_share = 0.25;  // of the bound, each time that it is expected to fill the page of a walk
constexpr double other_plans_share = 0.5;   // of the bound, for all plans but the surest together
constexpr double early_share = 0.25;  // of a turn, for the others until the first has cost what was expected of it
constexpr double turn_growth = 1.5;
constexpr double turns_to_join = 16;

}  // namespace

PlanTurns::PlanTurns(std::span<const Plan> plans, std::size_t sure, std::vector<double> spent, double share)
    : spent_(std::move(spent)), sure_(sure), sure_sorts_(plans[sure].sort_in_memory), bound_(share * plans[sure].most) {
  OCTAVO_ASSERT(sure < plans.size());
  for (const Plan& plan : plans) expected_.push_back(std::min(plan.expected, share * plan.most));
  spent_.resize(expected_.size(), 0);
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    if (i != sure_) others_ += spent_[i];
  }
  hoped_ = std::max(budget_min, expected_[0]);
  round_ = budget_min;
  if (expected_.size() == 1) {
    allowed_ = unlimited_budget;
  } else if (sure_sorts_) {
    const double budget = expected_[0] < bound_ ? hopeful_share : doubtful_share;
    allowed_ = std::max(budget_min, budget * bound_);
    if (spent_[0] >= allowed_) end_turn(spent_[0]);
  } else {
    begin_turn();
  }
}

bool PlanTurns::takes_part(std::size_t plan) const {
  return plan == 0 || plan == sure_ || expected_[plan] <= turns_to_join * round_;
}

// Selects the next plan, from the current one on, that may still read.
void PlanTurns::begin_turn() {
  while (true) {
    for (; current_ < expected_.size(); ++current_) {
      if (!takes_part(current_)) continue;
      const double left = other_plans_share * bound_ - others_;
      const double turn = current_ > 0 && round_ < hoped_ ? early_share * round_ : round_;
      if (current_ == sure_) {
        allowed_ = left <= 0 ? unlimited_budget : turn;
      } else {
        allowed_ = std::min(turn, spent_[current_] + left);
      }
      if (allowed_ > spent_[current_]) return;
    }
    current_ = 0;
    round_ *= turn_growth;
  }
}

bool PlanTurns::end_turn(double spent, double found) {
  OCTAVO_ASSERT(current_ < expected_.size());
  const std::size_t before = current_;
  if (sure_sorts_) {
    // At the rate of rows so far, the larger budget would fill the page.
    const double more = std::min(spent + nearly_done_share * bound_, bound_);
    if (spent < more && spent <= found * more) {
      allowed_ = more;
      return false;
    }
    current_ = sure_;
    allowed_ = unlimited_budget;
    return current_ != before;
  }
  if (current_ != sure_) others_ += std::max(0.0, spent - spent_[current_]);
  spent_[current_] = spent;
  ++current_;
  begin_turn();
  return current_ != before;
}

void PlanTurns::stay() {
  allowed_ = unlimited_budget;
}

bool fits_charge(const Plan& plan, double charge_max, double base) {
  constexpr double few_rows = 0.5;  // RU; a sort of these is over before the charge is compared for the first time
  return plan.most <= std::max(std::min(charge_max / 2, charge_max - base), few_rows);
}

}  // namespace octavo::query
