#include "query/walk/plan_walks.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "query/plan/explain.h"

namespace octavo::query {

PlanWalks::PlanWalks(std::span<const Plan> plans, std::vector<WalkedPart> walked, bool goes_on)
    : plans_(plans), progress_(plans.size()), walked_earlier_(std::move(walked)) {
  // Plans that were left on the previous page continue where they were.
  for (std::size_t i = goes_on ? 1 : 0; i < plans_.size(); ++i) {
    const auto part = std::ranges::find_if(
        walked_earlier_, [&](const WalkedPart& one) { return branch_that_continues(plans_[i], one).has_value(); });
    if (part == walked_earlier_.end()) continue;
    PlanWalk& walk = progress_[i].walk;
    walk.branch = *branch_that_continues(plans_[i], *part);
    if (!part->key.empty()) walk.position.key = std::move(part->key);
    walked_earlier_.erase(part);
  }
  left_ = parts_of_others(current_);
}

void PlanWalks::take_turns(std::size_t sure, double spent, double share) {
  OCTAVO_ASSERT(plans_.size() > 1);
  sure_ = sure;
  share_ = share;
  std::vector<double> before(plans_.size(), 0);
  before[0] = progress_[0].spent = spent;
  begin_turns(std::move(before));
}

void PlanWalks::begin_turns(std::vector<double> spent) {
  turns_.emplace(plans_, sure_, std::move(spent), share_);
  current_ = turns_->current();
  left_ = parts_of_others(current_);
}

double PlanWalks::spent(const WalkStatistics& now) const {
  return progress_[current_].spent + now.charge_since(turn_began_);
}

bool PlanWalks::end_turn(const WalkStatistics& now, double found, std::size_t key_bytes_max) {
  const auto& key = walk().position.key;
  if (key && key->size() > key_bytes_max) {
    turns_->stay();
    return false;
  }
  const double spent_now = spent(now);
  const std::size_t before = current_;
  const bool is_other = turns_->end_turn(spent_now, found);
  switch_to(turns_->current(), now);
  progress_[before].spent = spent_now;
  return is_other;
}

void PlanWalks::stay() {
  turns_->stay();
}

void PlanWalks::switch_to(std::size_t plan, const WalkStatistics& now) {
  progress_[current_].read += now - turn_began_;
  turn_began_ = now;
  current_ = plan;
  left_ = parts_of_others(plan);
}

void PlanWalks::begin_again(const WalkStatistics& now) {
  switch_to(current_, now);
  for (Progress& one : progress_) {
    one.walk.restart();
    one.spent = 0;
  }
  walked_earlier_.clear();
  left_.clear();
  if (turns_) begin_turns({});
}

std::vector<WalkedPart> PlanWalks::parts_of_others(std::size_t plan) const {
  std::vector<WalkedPart> parts = walked_earlier_;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const PlanWalk& walk = progress_[i].walk;
    if (i == plan || walk.branch >= plans_[i].branches.size()) continue;
    if (auto part = walked_part(plans_[i], walk.branch, walk.position)) parts.push_back(*std::move(part));
  }
  return parts;
}

boost::json::array PlanWalks::explain_reads(const WalkStatistics& now) const {
  boost::json::array shown;
  if (plans_.size() == 1) return shown;
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    WalkStatistics read = progress_[i].read;
    if (i == current_) read += now - turn_began_;
    boost::json::array indexes;
    for (const Branch& branch : plans_[i].branches) {
      const boost::json::object index = explain_index(branch.index);
      indexes.push_back({{"ddoc", index.at("ddoc")}, {"name", index.at("name")}});
    }
    shown.push_back({{"indexes", std::move(indexes)},
                     {"keys_examined", read.keys_examined},
                     {"docs_examined", read.documents_examined},
                     {"left", i != current_ && read.keys_examined > 0}});
  }
  return shown;
}

}  // namespace octavo::query
