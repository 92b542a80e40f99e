// Decides which of its plans a query runs: a walk in the order of ORDER BY is left for a sort once it has cost its
// budget. Also where pages end that have cost enough.
#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/internal/sql_run.h"
#include "query/sql/run/query_charge.h"
#include "query/walk/walked_part.h"

namespace octavo::query::sql {

void SqlExecution::Implementation::begin_turns() {
  if (prepared_->plans.size() < 2) return;
  if (!prepared_->may_sort_instead()) return take_turns();
  // A query without a limit begins with the sort, unless the walk is expected to cost much less. So does a query whose
  // rows are sorted in any case.
  constexpr double worth_it = 0.5;
  constexpr auto no_limit = std::numeric_limits<std::uint64_t>::max();
  const Plan& sure = prepared_->sure_plan();
  const auto& continuation = prepared_->continuation;
  const bool goes_on = continuation && !continuation->names_row();
  const bool is_merged = program().is_merged_by_client;
  const bool is_hopeful = prepared_->plan().expected <= worth_it * sure.most;
  const bool is_limited = program().limit != no_limit || options_.page_items_max != no_limit;
  // A walk can be stopped when the charge is reached, and continues from there. Each physical partition has a charge
  // that does not depend on the plan.
  bool is_capped = false;
  if (options_.may_stop) {
    const double base = partitioning::charge_of_scan(scan_work_of(*database_, *prepared_, {}));
    is_capped = !fits_charge(sure, options_.charge_max, base);
  }
  const bool may_leave = options_.source == nullptr && !is_capped;
  const bool is_worth_it = is_hopeful || (is_limited && may_leave) || is_capped;
  if ((is_merged && !may_read_in_runs(*prepared_)) || (!goes_on && !is_worth_it)) {
    walks_.switch_to(1, statistics_);
  } else if (may_leave) {
    // The walk begins even if its budget is spent: the sort replaces it at its position.
    walks_.take_turns(1, 0);
    if (continuation) walks_.count_before(static_cast<double>(continuation->spent) / 100);
  }
}

// Plans that all end at the limit take turns, in each physical partition if these are read one after the other. The
// documents of a source may differ from those that tell what was returned.
void SqlExecution::Implementation::take_turns() {
  const auto& continuation = prepared_->continuation;
  if (options_.source != nullptr) {
    if (!continuation) walks_.switch_to(prepared_->sure, statistics_);
    return;
  }
  double share = 1;
  if (partitions_.current()) {
    const auto parts = static_cast<double>(partition_ids_in_turn(*database_, *prepared_, scope_).size());
    share = 1 / std::max(1.0, parts);
  }
  // A page that begins within a document ends that first: its position does not tell what of it was returned.
  const bool is_within = begins_within_document();
  walks_.take_turns(prepared_->sure, continuation && !is_within ? static_cast<double>(continuation->spent) / 100 : 0,
                    share);
  if (!is_within || walks_.current() == 0) return;
  walks_.switch_to(0, statistics_);
  walks_.stay();
}

bool SqlExecution::Implementation::begins_within_document() const {
  return prepared_->continuation && !prepared_->continuation->positions.empty();
}

// Only true between documents. Looking ahead from a full page has its own limit.
bool SqlExecution::Implementation::is_turn_over() const {
  return !finished_ && !page_.looks_ahead() && !walk().inside && !is_left() && walks_.is_turn_over(statistics_);
}

// A plan that found enough gets more and stays.
void SqlExecution::Implementation::end_turn() {
  const double found = page_.found(collector_.rows().size());
  const double spent_now = spent();
  const IndexPosition position = walk().position;
  // The position of a walk that is replaced by a sort is that of the continuation in any case.
  const std::size_t key_bytes_max = prepared_->may_sort_instead() ? SIZE_MAX : WalkedPart::key_bytes_max;
  if (!walks_.end_turn(statistics_, found, key_bytes_max)) return;
  visited_.reset();
  statistics_.left_walk = true;
  if (!is_left()) return;
  left_walk_.leave(position, spent_now);
  sort_instead();
}

// The turn of the walk in order is over. Rows that were returned are known by their position in the walk. If there are
// none yet, as with rows for clients that merge, the sort begins with the page.
void SqlExecution::Implementation::sort_instead() {
  if (mode_ == Mode::streaming) {
    mode_ = Mode::sorting;
    if (auto behind = left_walk_.sort_by_entries()) resume_key_.set(*std::move(behind));
  }
  if (reads_in_runs_) left_walk_.set_start(start_after_runs(0));
  reads_in_runs_ = false;
  restart_walk();
}

// The sorted rows do not fit into memory: the walk continues to its end at any cost.
void SqlExecution::Implementation::return_to_walk() {
  sort_overflowed_ = false;
  walks_.switch_to(0, statistics_);
  walks_.stay();
  statistics_.left_walk = false;
  reads_in_runs_ = !left_walk_.sorts_by_entries();
  if (left_walk_.sorts_by_entries()) {
    left_walk_.take_up();
    mode_ = Mode::streaming;
    resume_key_.reset();
  }
  restart_walk();
  if (mode_ == Mode::streaming) walk().position = left_walk_.position();
}

// A row for clients that merge, or of a sort, is known by its place in the order.
bool SqlExecution::Implementation::was_returned() {
  if (!walks_.has_left() || prepared_->query->is_ordered()) return false;
  if (was_returned_) return *was_returned_;
  const storage::DocumentView& document = evaluation_.row.document();
  was_returned_ = false;
  if (begins_within_document() && walks_.current() == 0 && walk().inside == prepared_->continuation->key) return false;
  // What was returned is a part of the physical partition that was read.
  if (gone_rows_ && !gone_rows_->was_in_partition(document.id)) return false;
  const auto root = parser_.parse(document.body);
  if (!root || !evaluation_.work(document.body.size())) return false;
  const auto found = walks_.was_returned({*root, document.body, document.id, document.revision});
  if (!found) {
    evaluation_.fail(found.error());
    return false;
  }
  was_returned_ = *found;
  return *found;
}

// Where the walk that was left can begin again for the rows after the last one, which clients merge: before all rows
// that are equal to it. Empty: unknown.
std::string SqlExecution::Implementation::start_before_last() const {
  std::string start = rows_.entry_before_last();
  if (start.empty() && continues_in_order(*prepared_)) start = prepared_->continuation->start;
  return start;
}

// Before the sort has returned anything, the page may end where the walk was left, if the walk has made progress.
bool SqlExecution::Implementation::stop_sorting() {
  if (scanned_) return false;
  if (left_walk_.sorts_by_entries()) {
    if (!left_walk_.has_progressed()) return false;
    next_ = point_after({.key = *left_walk_.reached()});
  } else {  // rows for clients that merge
    const std::string& start = left_walk_.start();
    if (!resume_key_.is_whole() || start.empty() || start == runs_.page_start()) return false;
    next_ = point_in_order(*prepared_, resume_key_.key(), start);
  }
  next_->spent = spent_before(*prepared_, left_walk_.spent());
  finished_ = scanned_ = true;
  return true;
}

// --- rows that clients merge ---

// Ends the page after the last run that is complete: equal rows are not in the order of their entries, so those of
// another run may still come between the ones that were read. A run that was not complete on the page before, either,
// is read to its end. So is a page that must find its beginning by a long key.
bool SqlExecution::Implementation::stop_in_runs() {
  if (scanned_ || finished_ || resume_key_.is_sought() || !resume_key_.is_whole()) return false;
  const std::size_t complete = runs_.complete();
  std::string start = start_after_runs(complete);
  const auto is_complete = [&](const CollectedRow& row) { return row.run < complete; };
  const bool has_rows = std::ranges::any_of(collector_.rows(), is_complete);
  if (start.empty() || (!has_rows && start == runs_.page_start())) return false;
  auto rows = take_collected();
  std::erase_if(rows, [&](const CollectedRow& row) { return !is_complete(row); });
  const bool is_empty = rows.empty();
  begin_results(std::move(rows), true);
  write_results(false);
  scanned_ = true;
  if (finished_) return false;  // it is full: nothing has to end it
  finished_ = true;
  if (is_empty) next_ = point_in_order(*prepared_, resume_key_.key(), std::move(start));
  if (!next_->has_whole_key()) return true;
  if (!is_empty) next_->start = std::move(start);
  next_->spent = spent_before(*prepared_, spent());
  return true;
}

}  // namespace octavo::query::sql
