#include "query/walk/plan_turns.h"

#include <algorithm>
#include <limits>

#include "base/assert.h"

namespace octavo::query {

namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();
constexpr double kBudgetMin = 1;       // RU
constexpr double kHopefulShare = 0.5;  // of the bound, for a walk that is expected to cost less
constexpr double kDoubtfulShare = 0.25;
constexpr double kNearlyDoneShare = 0.25;  // of the bound, each time that it is expected to fill the page of a walk
constexpr double kOthersShare = 0.5;       // of the bound, for all plans but the surest together
constexpr double kEarlyShare = 0.25;       // of a turn, for the others until the first has cost what was expected of it
constexpr double kTurnGrowth = 1.5;
constexpr double kTurnsToJoin = 16;

}  // namespace

PlanTurns::PlanTurns(std::span<const Plan> plans, std::size_t sure, std::vector<double> spent)
    : spent_(std::move(spent)), sure_(sure), sure_sorts_(plans[sure].sort_in_memory), bound_(plans[sure].most) {
  OCTAVO_ASSERT(sure < plans.size());
  for (const Plan& plan : plans) expected_.push_back(plan.expected);
  spent_.resize(expected_.size(), 0);
  for (std::size_t i = 0; i < spent_.size(); ++i) {
    if (i != sure_) others_ += spent_[i];
  }
  hoped_ = std::max(kBudgetMin, expected_[0]);
  round_ = kBudgetMin;
  if (expected_.size() == 1) {
    allowed_ = kUnlimited;
  } else if (sure_sorts_) {
    const double share = expected_[0] < bound_ ? kHopefulShare : kDoubtfulShare;
    allowed_ = std::max(kBudgetMin, share * bound_);
    if (spent_[0] >= allowed_) end_turn(spent_[0]);
  } else {
    begin_turn();
  }
}

bool PlanTurns::takes_part(std::size_t plan) const {
  return plan == 0 || plan == sure_ || expected_[plan] <= kTurnsToJoin * round_;
}

// Selects the next plan, from the current one on, that may still read.
void PlanTurns::begin_turn() {
  while (true) {
    for (; current_ < expected_.size(); ++current_) {
      if (!takes_part(current_)) continue;
      const double left = kOthersShare * bound_ - others_;
      const double turn = current_ > 0 && round_ < hoped_ ? kEarlyShare * round_ : round_;
      if (current_ == sure_) {
        allowed_ = left <= 0 ? kUnlimited : turn;
      } else {
        allowed_ = std::min(turn, spent_[current_] + left);
      }
      if (allowed_ > spent_[current_]) return;
    }
    current_ = 0;
    round_ *= kTurnGrowth;
  }
}

bool PlanTurns::end_turn(double spent, double found) {
  OCTAVO_ASSERT(current_ < expected_.size());
  const std::size_t before = current_;
  if (sure_sorts_) {
    // At the rate of rows so far, the larger budget would fill the page.
    const double more = std::min(spent + kNearlyDoneShare * bound_, bound_);
    if (spent < more && spent <= found * more) {
      allowed_ = more;
      return false;
    }
    current_ = sure_;
    allowed_ = kUnlimited;
    return current_ != before;
  }
  if (current_ != sure_) others_ += std::max(0.0, spent - spent_[current_]);
  spent_[current_] = spent;
  ++current_;
  begin_turn();
  return current_ != before;
}

void PlanTurns::stay() {
  allowed_ = kUnlimited;
}

bool fits_charge(const Plan& plan, double charge_max, double base) {
  constexpr double few_rows = 0.5;  // RU; a sort of these is over before the charge is compared for the first time
  return plan.most <= std::max(std::min(charge_max / 2, charge_max - base), few_rows);
}

}  // namespace octavo::query
