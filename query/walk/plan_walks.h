#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "query/plan/plan.h"
#include "query/walk/bookmark.h"
#include "query/walk/plan_turns.h"
#include "query/walk/plan_walk.h"
#include "query/walk/walked_part.h"

namespace octavo::query {

/// The walks of a query's plans: which one runs (plan_turns.h), how far each has come, and what it has read. What the
/// others have returned is known by their positions (walked_part.h).
///
/// `now` is always what the query has read so far, by all plans. One thread at a time.
class PlanWalks {
 public:
  /// `plans` must outlive this. `walked`: what earlier pages have returned by other plans than the one that they ended
  /// with. `goes_on`: the first plan continues where the previous page ended.
  PlanWalks(std::span<const Plan> plans, std::vector<WalkedPart> walked, bool goes_on);

  /// From now on the plans take turns. `spent`: by the first one, on earlier pages that ended before they were full.
  /// `share`: the part of what the plans cost that is read before `begin_again`.
  void take_turns(std::size_t sure, double spent, double share = 1);
  /// What the current plan has cost before, on earlier pages. It counts when its turn is compared with its budget.
  void count_before(double spent) { progress_[current_].spent += spent; }
  bool takes_turns() const { return turns_.has_value(); }

  std::size_t current() const { return current_; }
  PlanWalk& walk() { return progress_[current_].walk; }
  const PlanWalk& walk() const { return progress_[current_].walk; }

  /// What the current plan has cost.
  double spent(const WalkStatistics& now) const;
  bool is_turn_over(const WalkStatistics& now) const { return turns_ && spent(now) >= turns_->allowed(); }
  /// Ends the turn of the current plan, which has found this share of the page. True: another plan is current now. A
  /// walk at a key of more than `key_bytes_max` bytes is not left.
  bool end_turn(const WalkStatistics& now, double found, std::size_t key_bytes_max = WalkedPart::key_bytes_max);
  /// Lets the current plan run to its end at any cost, because the others cannot.
  void stay();
  void switch_to(std::size_t plan, const WalkStatistics& now);
  /// All plans begin again, with another part of the documents: nothing of it was returned.
  void begin_again(const WalkStatistics& now);

  /// Whether anything may have been returned by another plan than the current one.
  bool has_left() const { return !left_.empty(); }
  /// Whether the document was. Errors: as of WalkedPart::contains.
  Expected<bool> was_returned(const IndexedDocument& document) const { return was_walked(left_, document); }
  /// What plans other than `plan` have returned: on this page, and on earlier pages by plans that do not take turns any
  /// more.
  std::vector<WalkedPart> parts_of_others(std::size_t plan) const;

  /// What each plan has read, with its indexes and whether it was left for another plan that ended the page; empty:
  /// there is one plan.
  boost::json::array explain_reads(const WalkStatistics& now) const;

 private:
  struct Progress {
    PlanWalk walk;
    double spent = 0;     ///< before its current turn
    WalkStatistics read;  ///< likewise
  };

  void begin_turns(std::vector<double> spent);

  std::span<const Plan> plans_;
  std::vector<Progress> progress_;
  std::vector<WalkedPart> walked_earlier_;  ///< what earlier pages have returned by plans that do not continue
  std::vector<WalkedPart> left_;            ///< what the others than the current plan have returned
  std::size_t current_ = 0;
  std::optional<PlanTurns> turns_;
  std::size_t sure_ = 0;
  double share_ = 1;
  WalkStatistics turn_began_;  ///< what was read when the turn began
};

/// `parts` as a bookmark or a continuation names them, with the text of `describe(part)`: how to recognise what was
/// returned when the index is gone.
template <class Describe>
std::vector<Bookmark::Left> left_of(std::span<const WalkedPart> parts, Describe describe) {
  std::vector<Bookmark::Left> left;
  for (const WalkedPart& part : parts) {
    if (left.size() == Bookmark::left_max) break;
    left.push_back({part.identity, part.down, part.key, part.gone ? part.gone->to_text() : describe(part)});
  }
  return left;
}

}  // namespace octavo::query
