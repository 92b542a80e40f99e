// Makes results of the rows that a query reads: at once, or at the end if they are sorted, distinct or grouped.
#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "query/json/plain_strings.h"
#include "query/sql/run/internal/sql_run.h"

namespace octavo::query::sql {

namespace {

// In longer documents, finding the properties is faster than checking that everything is plain.
constexpr std::size_t plain_bytes_max = 2048;

}  // namespace

bool SqlExecution::Implementation::where_is_known() const {
  const std::string_view body = evaluation_.row.document().body;
  if (!is_changed_ && walks_.current() == 0) {  // the first plan's index describes the stored document
    if (prepared_->where_holds == WhereHolds::of_all) return true;
    if (prepared_->where_holds == WhereHolds::of_plain_strings && body.size() <= plain_bytes_max &&
        has_plain_strings(body)) {
      return true;
    }
  }
  const auto& texts = prepared_->exact_matches;
  return !texts.empty() && has_exact_matches(body, texts);
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::take_row(std::string_view position) {
  if (program().where && !where_is_known() && !program().where->evaluate(evaluation_).is_true()) {
    if (reads_in_runs_ && options_.may_stop) note_end_of_run();
    return Flow::next;
  }
  if (evaluation_.failed()) return Flow::next;
  walk().note_result();
  if (was_returned()) return Flow::next;
  if (resume_key_.is_sought()) return look_for_resume_key();
  switch (mode_) {
    case Mode::streaming:
      return emit_row(position);
    case Mode::sorting:
      return collect_row(position);
    case Mode::distinct:
      // In the requested order, then by value.
      if (row_key_.make_order()) collector_.add_distinct(row_key_.text());
      check_memory(collector_.bytes());
      break;
    case Mode::grouping:
      collector_.add_to_group(resume_key_);
      check_memory(collector_.bytes());
      break;
  }
  return Flow::next;
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::emit_row(std::string_view position) {
  if (page_.skips() || page_.looks_ahead()) {
    const auto append = [this](std::string& out) { return program().append_projection(evaluation_, out); };
    // An undefined projection is not a result, so it does not count as skipped either.
    if (program().selection == Query::Selection::value && !output_.would_add(append)) return Flow::next;
    if (evaluation_.failed()) return Flow::next;
    if (page_.looks_ahead()) return end_page();
    page_.skip(1);
    return Flow::next;
  }
  const auto bytes = output_.add_if(
      [this](std::string& out) { return program().append_projection(evaluation_, out) && !evaluation_.failed(); });
  if (!bytes) return Flow::next;
  const Flow flow = count_result(*bytes);
  if (flow == Flow::next || page_.is_limit_reached()) return flow;
  next_ = point_after({std::string(position), walk().branch, partitions_.current()});
  if (!program().sources.empty()) next_->positions = combinations_.positions();
  if (!may_look_ahead()) return flow;
  // Clients send another request if there is a continuation, and some never stop.
  page_.look_ahead(statistics_.keys_examined);
  finished_ = false;
  return Flow::next;
}

// A user-defined function may do anything, so it is called for rows of the page only.
bool SqlExecution::Implementation::may_look_ahead() const {
  return !prepared_->query->calls_user_functions();
}

// Ends the page: something follows, or may follow.
SqlExecution::Implementation::Flow SqlExecution::Implementation::end_page() {
  finished_ = true;
  return Flow::finished;
}

bool SqlExecution::Implementation::stop() {
  if (is_left()) return stop_sorting();
  if (reads_in_runs_) return stop_in_runs();
  if (!is_resumable() || finished_ || !visited_) return false;
  if (walk().inside && combinations_.left_at().empty()) return false;  // its row is still to be taken
  next_ = point_after(*visited_);
  if (walk().inside) next_->positions = combinations_.left_at();
  if (!page_.looks_ahead()) next_->spent = spent_before(*prepared_, spent());
  finished_ = scanned_ = true;
  return true;
}

// Counts a result that was written; finished: the page is full, or the query's limit is reached.
SqlExecution::Implementation::Flow SqlExecution::Implementation::count_result(std::size_t bytes) {
  ++statistics_.results_returned;
  statistics_.result_bytes += bytes;
  if (!page_.count(bytes)) return Flow::next;
  finished_ = true;
  return Flow::finished;
}

// --- results that wait ---

void SqlExecution::Implementation::check_memory(std::size_t bytes) {
  if (bytes <= options_.memory_bytes_max) return;
  if (is_left()) {
    sort_overflowed_ = true;
    return;
  }
  evaluation_.fail(
      {ErrorCode::too_large,
       fmt::format("The query has to keep more than {} bytes of results in memory to {} them. Ask for fewer "
                   "with TOP, filter more, or create an index for the order.",
                   options_.memory_bytes_max, mode_ == Mode::grouping ? "group" : "sort"),
       "resource_limit"});
}

const std::string* SqlExecution::Implementation::make_row_key() {
  if (gone_rows_) return gone_rows_->make_key();
  if (left_walk_.sorts_by_entries()) return left_walk_.make_key();
  return row_key_.make() ? &row_key_.text() : nullptr;
}

// Searches the rows for the whole key with which the previous page ended.
SqlExecution::Implementation::Flow SqlExecution::Implementation::look_for_resume_key() {
  const std::string* key = mode_ == Mode::sorting ? make_row_key() : collector_.make_group_key();
  if (key == nullptr || !evaluation_.work(key->size()) || !resume_key_.is_key(*key)) return Flow::next;
  resume_key_.set(*key);
  finished_ = true;
  return Flow::finished;
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::collect_row(std::string_view position) {
  const std::string* key = make_row_key();
  if (key == nullptr) return Flow::next;
  if (reads_in_runs_) {
    const std::string_view order = row_key_.order();
    const auto has_room = [&] { return collector_.has_room_for(order); };
    // Without room, all further rows sort after those of the page.
    if (!runs_.take(order, row_key_.has_scalars(), position, has_room)) return Flow::finished;
  }
  if (resume_key_.has_passed(*key) || !collector_.has_room_for(*key)) return Flow::next;
  CollectedRow row;
  if (!program().append_projection(evaluation_, row.text) || evaluation_.failed()) return Flow::next;
  row.key = *key;
  if (reads_in_runs_) row.run = runs_.current();
  if (gone_rows_) {
    row.entry = gone_rows_->entry();
    row.positions = combinations_.positions();
  } else if (is_left()) {
    if (left_walk_.sorts_by_entries() || left_walk_.find_entry()) row.entry = left_walk_.entry();
    row.positions = combinations_.positions();
    row.order_bytes = row_key_.order_bytes();
  }
  collector_.add(std::move(row));
  check_memory(collector_.bytes());
  return sort_overflowed_ ? Flow::finished : Flow::next;
}

// A row that is no result may show that the last run is complete, so that the page can end after it.
void SqlExecution::Implementation::note_end_of_run() {
  if (!runs_.may_be_over() || evaluation_.failed()) return;
  if (row_key_.make_order()) runs_.see_order(row_key_.order());
}

// Whether a row of the run is known to be off the page without its document.
bool SqlExecution::Implementation::is_off_page(const IndexRow& entry) {
  if (!runs_.has_fields(entry.field_keys())) return false;
  row_key_.make_of(runs_.order(), entry.document_id());
  return resume_key_.has_passed_all(row_key_.text()) || !collector_.has_room_for(row_key_.text());
}

std::vector<CollectedRow> SqlExecution::Implementation::take_collected() {
  return collector_.take([this](std::size_t bytes) { check_memory(bytes); });
}

void SqlExecution::Implementation::prepare_results() {
  if (finished_ || mode_ == Mode::streaming) return;
  // One group without GROUP BY is one page.
  if (mode_ == Mode::grouping && program().group_by.empty() && resume_key_.is_set()) return;
  const bool is_cut = collector_.is_full();
  begin_results(take_collected(), is_cut);
}

// Leaves out the rows of earlier pages, and those that OFFSET skips.
void SqlExecution::Implementation::begin_results(std::vector<CollectedRow> rows, bool is_cut) {
  const std::size_t first = resume_key_.first_row_in(rows);
  rows_ = SortedRows(std::move(rows), first, is_cut);
  rows_.skip(page_.skip(rows_.left()));
}

// The next page begins after the last row.
void SqlExecution::Implementation::continue_after_last() {
  const CollectedRow& row = rows_.last();
  if (left_walk_.sorts_by_entries()) {
    next_ = point_after({.key = row.entry});
    if (!program().sources.empty()) next_->positions = row.positions;
    return;
  }
  if (prepared_->gone_index) {
    next_ = point_by_index(*prepared_->gone_index, row.entry);
    if (next_ && !program().sources.empty()) next_->positions = row.positions;
    if (next_) return;
  }
  next_.emplace();
  next_->kind = mode_ == Mode::grouping ? Continuation::Kind::grouped : Continuation::Kind::sorted;
  next_->set_key(row.key, options_.continuation_key_bytes_max);
  if (prepared_->gone_index) {
    next_->kind = Continuation::Kind::walked;
    next_->start = prepared_->gone_index->to_text();
  }
  std::string start = reads_in_runs_ ? runs_.start_of(row.run) : is_left() ? start_before_last() : std::string();
  if (!start.empty()) begin_at(*prepared_, std::move(start), *next_);
  if (next_->has_whole_key()) return;
  next_->same_beginning = rows_.count(next_->key, resume_key_.count(next_->key));
}

ScanState SqlExecution::Implementation::write_results(bool pauses) {
  while (!finished_ && rows_.left() > 0) {
    if (pauses && output_.is_full()) return ScanState::more;
    const CollectedRow& row = rows_.take();
    output_.add(row.text);
    const Flow flow = count_result(row.text.size());
    const bool more = rows_.left() > 0 || rows_.is_cut();
    if (flow == Flow::finished && !page_.is_limit_reached() && more) continue_after_last();
  }
  // Rows written since the previous page have replaced those that follow.
  if (!finished_ && rows_.is_cut() && !page_.is_limit_reached() && rows_.has_last()) continue_after_last();
  return ScanState::done;
}

std::optional<std::string> SqlExecution::Implementation::continuation() const {
  if (!next_) return std::nullopt;
  Continuation continuation = *next_;
  continuation.fingerprint = prepared_->query->fingerprint();
  continuation.skip = page_.skip_left();
  continuation.left = page_.limit_left();
  if (!prepared_->query->is_ordered()) {
    continuation.left_plans = left_of(walks_.parts_of_others(walks_.current()), [](const WalkedPart& part) {
      const auto gone = part.index ? GoneIndex::of(*part.index, part.down) : std::nullopt;
      return gone ? gone->to_text() : std::string();
    });
  }
  return continuation.encode(prepared_->token_origin);
}

}  // namespace octavo::query::sql
