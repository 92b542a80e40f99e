// Decides which of its plans a _find runs, and what the others have returned.
#include <algorithm>
#include <cmath>
#include <utility>

#include "query/mango/find_execution.h"
#include "query/walk/document_lookup.h"
#include "query/walk/gone_index.h"

namespace octavo::query {

namespace {

// What a union has returned, if its index should be gone when the part is read again: see describe_index.
std::string describe_side(const WalkedPart& part) {
  auto gone = part.index ? GoneIndex::of(*part.index, part.down) : std::nullopt;
  if (!gone) return {};
  gone->side = part.sides.size() - 1;
  return gone->to_text();
}

}  // namespace

void FindExecution::begin_turns() {
  walked_earlier_ = prepared_->walked;
  // Plans that were left on the previous page continue where they were. The first one continues at the bookmark, unless
  // the index of the bookmark is gone.
  for (std::size_t i = prepared_->bookmark ? 1 : 0; i < prepared_->plans.size(); ++i) {
    const Plan& plan = prepared_->plans[i];
    const auto part = std::ranges::find_if(
        walked_earlier_, [&](const WalkedPart& one) { return branch_that_continues(plan, one).has_value(); });
    if (part == walked_earlier_.end()) continue;
    PlanWalk& walk = progress_[i].walk;
    walk.branch = *branch_that_continues(plan, *part);
    if (!part->key.empty()) walk.position.key = std::move(part->key);
    walked_earlier_.erase(part);
  }
  left_ = parts_of_others(plan_);
  if (prepared_->plans.size() < 2) return;
  std::vector<double> spent(prepared_->plans.size(), 0);
  if (prepared_->bookmark) spent[0] = static_cast<double>(prepared_->bookmark->spent) / 100;
  for (std::size_t i = 0; i < spent.size(); ++i) progress_[i].spent = spent[i];
  turns_.emplace(prepared_->plans, prepared_->sure, std::move(spent));
  switch_to(turns_->current());
}

void FindExecution::make_stoppable(double charge_max, double base) {
  stoppable_ = true;
  const Plan& sure = prepared_->sure_plan();
  const bool has_choice = turns_ && sure.sort_in_memory && !plan().sort_in_memory;
  if (has_choice && !fits_charge(sure, charge_max, base)) turns_->stay();
}

double FindExecution::spent() const {
  return progress_[plan_].spent + statistics_.charge_since(turn_began_);
}

bool FindExecution::is_turn_over() const {
  return turns_ && !finished_ && spent() >= turns_->allowed();
}

void FindExecution::end_turn() {
  const double spent_now = spent();
  const auto& key = walk().position.key;
  if (key && key->size() > WalkedPart::key_bytes_max) {
    turns_->stay();
    return;
  }
  progress_[plan_].spent = spent_now;
  turn_began_ = statistics_;
  const auto wanted = static_cast<double>(prepared_->request.matches_needed());
  const double found = 1 - static_cast<double>(skip_left_ + limit_left_) / wanted;
  if (turns_->end_turn(spent_now, found)) switch_to(turns_->current());
}

void FindExecution::switch_to(std::size_t plan) {
  plan_ = plan;
  turn_began_ = statistics_;
  visited_.reset();
  // A sort need not keep rows for the part of the page that a walk has returned.
  if (limit_left_ < sorted_max_) sorted_max_ = skip_left_ + limit_left_;
  left_ = parts_of_others(plan);
}

// Continues the walk that was left for the sort, to its end.
void FindExecution::give_up_sorting() {
  sort_overflowed_ = false;
  sorted_.clear();
  sorted_bytes_ = 0;
  switch_to(0);
  turns_->stay();
}

// A plan that reached its end has returned everything that the others could: the next page begins there.
void FindExecution::remember_end() {
  if (!turns_ || !last_ || plan().sort_in_memory) return;
  remember(end_of(plan()), plan().branches.size() - 1);
}

// What plans other than `plan` have returned: on this page, and on earlier pages by plans that no longer take turns.
std::vector<WalkedPart> FindExecution::parts_of_others(std::size_t plan) const {
  std::vector<WalkedPart> parts = walked_earlier_;
  for (std::size_t i = 0; i < progress_.size(); ++i) {
    const PlanWalk& walk = progress_[i].walk;
    if (i == plan || walk.branch >= prepared_->plans[i].branches.size()) continue;
    if (auto part = walked_part(prepared_->plans[i], walk.branch, walk.position)) parts.push_back(*std::move(part));
  }
  return parts;
}

void FindExecution::add_turns(Bookmark& bookmark) const {
  for (const WalkedPart& part : parts_of_others(last_plan_)) {
    if (bookmark.left.size() == Bookmark::left_max) break;
    std::string index;
    if (part.gone) index = part.gone->to_text();
    if (part.index) index = part.sides.empty() ? describe_index(*part.index, part.down) : describe_side(part);
    bookmark.left.push_back({part.identity, part.down, part.key, std::move(index)});
  }
  // A page that ended before it was full gives the next one no new budget.
  if (turns_ && limit_left_ > 0) bookmark.spent = static_cast<std::uint64_t>(std::ceil(spent() * 100));
}

// Empty: what the index has returned cannot be recognised without it. An automatic index may have several entries for a
// document, and a partial index named by the request returns less than the selector says.
std::string FindExecution::describe_index(const IndexDefinition& index, bool down) const {
  if (index.automatic || (index.partial_filter && !prepared_->request.use_index.empty())) return {};
  const auto gone = GoneIndex::of(index, down);
  return gone ? gone->to_text() : std::string();
}

Expected<bool> FindExecution::was_returned(simdjson::dom::element root, const storage::DocumentView& document) {
  if (left_.empty()) return false;
  return was_walked(left_, {root, document.body, document.id, document.revision});
}

Expected<bool> FindExecution::was_returned(const IndexRow& row, DocumentLookup& documents) {
  OCTAVO_TRY(const auto found, documents.find(row.document_id()));
  if (!found.document || found.document->deleted) return false;
  OCTAVO_TRY(const auto root, parser_.parse(found.document->body));
  return was_returned(root, *found.document);
}

}  // namespace octavo::query
