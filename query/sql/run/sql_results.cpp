// Makes results of the rows that a query reads: at once, or at the end if they are sorted, distinct or grouped.
#include <algorithm>
#include <unordered_set>
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
      collect_distinct();
      break;
    case Mode::grouping:
      groups_->add_row(evaluation_, groups_max_,
                       resume_key_.is_set() && !program().distinct ? &resume_key_.key() : nullptr);
      check_memory(groups_->bytes());
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

Continuation SqlExecution::Implementation::point_after(const ReadingPoint& last) const {
  Continuation point;
  if (last.partition_id) point.partition_id_plus_one = *last.partition_id + 1;
  point.key = last.key;
  point.branch = last.branch;
  if (!program().reads_items) return point;
  // A sort continues the walk that it replaces.
  const Plan& by = is_left() ? prepared_->plan() : plan();
  const auto& branches = by.branches;
  if (const auto& index = branches[last.branch].index) {
    point.kind = Continuation::Kind::index;
    const IndexDefinition& definition = *index->definition;
    point.identity = definition.identity;
    const auto gone = GoneIndex::of(definition, by.descending);
    if (gone && (!gone->is_json || branches.size() == 1)) {
      point.kind = Continuation::Kind::automatic;
      point.start = gone->to_text();
    }
  }
  if (branches.size() > 1) point.kind = Continuation::Kind::combined;
  return point;
}

bool SqlExecution::Implementation::stop() {
  if (is_left()) return stop_sorting();
  if (reads_in_runs_) return stop_in_runs();
  if (!is_resumable() || finished_ || !visited_) return false;
  if (walk().inside && combinations_.left_at().empty()) return false;  // its row is still to be taken
  next_ = point_after(*visited_);
  if (walk().inside) next_->positions = combinations_.left_at();
  if (!page_.looks_ahead()) next_->spent = spent_for_continuation(spent());
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
  value_key_.clear();
  if (mode_ != Mode::sorting && !groups_->append_key(evaluation_, value_key_)) return Flow::next;
  const std::string* key = mode_ == Mode::sorting ? make_row_key() : &value_key_;
  if (key == nullptr || !evaluation_.work(key->size()) || !resume_key_.is_key(*key)) return Flow::next;
  resume_key_.set(*key);
  finished_ = true;
  return Flow::finished;
}

// Whether so many rows were written before the key since the previous page that the kept rows end before it.
bool SqlExecution::Implementation::has_lost_resume_key() const {
  if (!resume_key_.may_be_lost()) return false;
  if (mode_ == Mode::sorting) {
    return collected_.is_full() && std::ranges::none_of(collected_.rows(), [this](const CollectedRow& row) {
             return resume_key_.is_key(row.key);
           });
  }
  return mode_ == Mode::grouping && groups_->size() >= groups_max_ &&
         std::ranges::none_of(groups_->all(), [this](const auto& group) { return resume_key_.is_key(group.first); });
}

SqlExecution::Implementation::Flow SqlExecution::Implementation::collect_row(std::string_view position) {
  const std::string* key = make_row_key();
  if (key == nullptr) return Flow::next;
  if (reads_in_runs_) {
    const std::string_view order = row_key_.order();
    const auto has_room = [&] { return collected_.has_room_for(order); };
    // Without room, all further rows sort after those of the page.
    if (!runs_.take(order, row_key_.has_scalars(), position, has_room)) return Flow::finished;
  }
  if (resume_key_.has_passed(*key) || !collected_.has_room_for(*key)) return Flow::next;
  CollectedRow row;
  if (!program().append_projection(evaluation_, row.text) || evaluation_.failed()) return Flow::next;
  row.key = *key;
  if (reads_in_runs_) row.run = runs_.current();
  if (is_left()) {
    if (left_walk_.sorts_by_entries() || left_walk_.find_entry()) row.entry = left_walk_.entry();
    row.positions = combinations_.positions();
    row.order_bytes = row_key_.order_bytes();
  }
  collected_.add(std::move(row));
  check_memory(collected_.bytes());
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
  return resume_key_.has_passed_all(row_key_.text()) || !collected_.has_room_for(row_key_.text());
}

// Collects rows in the requested order, then by value; rows with equal values count once.
void SqlExecution::Implementation::collect_distinct() {
  if (!row_key_.make_order()) return;
  value_key_.clear();
  CollectedRow row;
  if (program().projects_row) {
    evaluation_.append_order_key(value_key_, evaluation_.row.whole(evaluation_.arena));
    program().append_projection(evaluation_, row.text);
  } else if (program().is_merged_by_client) {
    // The client's query distinguishes payloads: `_rid` and the order are those of the first item.
    evaluation_.append_order_key(value_key_, program().items.back().value->evaluate(evaluation_));
    program().append_projection(evaluation_, row.text);
  } else {
    const Value value = program().project(evaluation_);
    if (value.is_undefined()) return;
    evaluation_.append_order_key(value_key_, value);
    evaluation_.append_json(value, row.text);
  }
  if (evaluation_.failed()) return;
  row.key = row_key_.text() + value_key_;
  collected_.add_distinct(value_key_, std::move(row));
  check_memory(collected_.bytes());
}

std::vector<CollectedRow> SqlExecution::Implementation::take_groups() {
  std::vector<CollectedRow> rows;
  std::unordered_set<std::string> seen;
  std::size_t bytes = 0;
  // If this were interrupted, it could not be begun again.
  evaluation_.set_interruptible(false);
  for (const auto& [key, group] : groups_->all()) {
    evaluation_.arena.rewind({});
    evaluation_.begin_item();
    groups_->select(evaluation_, group);
    CollectedRow row;
    bool defined = false;
    if (program().distinct) {
      const Value value = program().project(evaluation_);
      std::string identity;
      evaluation_.append_order_key(identity, value);
      bytes += identity.size();
      defined = !value.is_undefined() && seen.insert(std::move(identity)).second;
      if (defined) evaluation_.append_json(value, row.text);
    } else {
      defined = program().append_projection(evaluation_, row.text);
    }
    groups_->unselect(evaluation_);
    bytes += row.text.size() + key.size() + sizeof(row);
    check_memory(bytes);
    if (evaluation_.failed()) break;
    if (!defined) continue;
    row.key = key;
    rows.push_back(std::move(row));
  }
  evaluation_.set_interruptible(true);
  groups_.reset();
  return rows;
}

void SqlExecution::Implementation::prepare_results() {
  if (finished_ || mode_ == Mode::streaming) return;
  const bool is_grouping = mode_ == Mode::grouping;
  // One group without GROUP BY is one page.
  if (is_grouping && program().group_by.empty() && resume_key_.is_set()) return;
  const bool is_cut = is_grouping ? groups_->size() >= groups_max_ : collected_.is_full();
  begin_results(is_grouping ? take_groups() : collected_.take_sorted(), is_cut);
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
  next_.emplace();
  next_->kind = mode_ == Mode::grouping ? Continuation::Kind::grouped : Continuation::Kind::sorted;
  next_->set_key(row.key, options_.continuation_key_bytes_max);
  if (prepared_->gone_index) {
    next_->kind = Continuation::Kind::walked;
    next_->start = prepared_->gone_index->to_text();
  }
  std::string start = reads_in_runs_ ? runs_.start_of(row.run) : is_left() ? start_before_last() : std::string();
  if (!start.empty()) begin_at(std::move(start), *next_);
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
  return continuation.encode();
}

}  // namespace octavo::query::sql
