// Decides which of its plans a _find runs, and what the others have returned.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "query/mango/run/find_execution.h"
#include "query/walk/document_lookup.h"

namespace octavo::query {

void FindExecution::begin_turns() {
  if (prepared_->plans.size() < 2) return;
  const auto& bookmark = prepared_->bookmark;
  walks_.take_turns(prepared_->sure, bookmark ? static_cast<double>(bookmark->spent) / 100 : 0);
  begin_turn();
}

void FindExecution::make_stoppable(double charge_max, double base) {
  page_end_.follow();
  const Plan& sure = prepared_->sure_plan();
  const bool has_choice = walks_.takes_turns() && sure.sort_in_memory && !plan().sort_in_memory;
  if (has_choice && !fits_charge(sure, charge_max, base)) walks_.stay();
}

void FindExecution::end_turn() {
  const auto wanted = static_cast<double>(prepared_->request.matches_needed());
  const double found = 1 - static_cast<double>(skip_left_ + limit_left_) / wanted;
  if (walks_.end_turn(statistics_, found)) begin_turn();
}

void FindExecution::begin_turn() {
  page_end_.forget_seen();
  // A sort need not keep rows for the part of the page that a walk has returned.
  constexpr auto most = std::numeric_limits<std::uint64_t>::max();
  sorter_.keep_at_most(skip_left_ + std::min(limit_left_, most - skip_left_));
}

// Continues the walk that was left for the sort, to its end.
void FindExecution::give_up_sorting() {
  sorter_.clear();
  walks_.switch_to(0, statistics_);
  begin_turn();
  walks_.stay();
}

// A plan that reached its end has returned everything that the others could: the next page begins there.
void FindExecution::remember_end() {
  if (!walks_.takes_turns() || page_end_.is_at_beginning() || plan().sort_in_memory) return;
  page_end_.move_to(end_of(plan()), plan().branches.size() - 1, walks_.current());
}

Expected<bool> FindExecution::was_returned(simdjson::dom::element root, const storage::DocumentView& document) {
  if (!walks_.has_left()) return false;
  return walks_.was_returned({root, document.body, document.id, document.revision});
}

Expected<bool> FindExecution::was_returned(const IndexRow& row, DocumentLookup& documents) {
  OCTAVO_TRY(const auto found, documents.find(row.document_id()));
  if (!found.document || found.document->deleted) return false;
  OCTAVO_TRY(const auto root, parser_.parse(found.document->body));
  return was_returned(root, *found.document);
}

}  // namespace octavo::query
