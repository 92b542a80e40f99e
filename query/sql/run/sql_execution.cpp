#include "query/sql/run/sql_execution.h"

#include <algorithm>
#include <utility>

#include "partitioning/keys/range_parts.h"
#include "query/sql/run/internal/sql_run.h"
#include "query/sql/run/query_charge.h"

namespace octavo::query::sql {

namespace {

// How much longer than its budget a first slice may take for its last row.
constexpr std::chrono::milliseconds first_slice_grace{8};

// Walking up, the entries after a key begin at the key followed by the lowest byte.
std::string after(std::string_view key) {
  std::string next(key);
  next += '\0';
  return next;
}

SqlScope scope_of(const PreparedSql& prepared, const SqlOptions& options) {
  SqlScope scope = prepared.scope;
  if (options.partition_key) scope.partition_key = *options.partition_key;
  return scope;
}

}  // namespace

SqlExecution::Implementation::Implementation(std::shared_ptr<partitioning::Database> database,
                                             std::shared_ptr<const PreparedSql> prepared, SqlOptions options)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      options_(std::move(options)),
      scope_(scope_of(*prepared_, options_)),
      walks_(prepared_->plans, prepared_->walked, prepared_->continuation.has_value()),
      partitions_(options_.source != nullptr ? PartitionsInTurn() : PartitionsInTurn(*database_, *prepared_, scope_)),
      page_(program().offset, program().limit, options_.page_items_max, options_.page_bytes_max),
      evaluation_(program().root_names, program().slots, prepared_->shape),
      combinations_(program().sources),
      row_key_(program(), *prepared_->shape, evaluation_, combinations_),
      left_walk_(*prepared_, evaluation_, combinations_, parser_),
      collector_(program(), evaluation_) {
  evaluation_.user_functions = options_.user_functions;
  if (prepared_->gone_index) gone_rows_.emplace(*prepared_, database_.get(), evaluation_, combinations_, parser_);
  if (prepared_->may_sort_instead()) begin_turns();
  const bool is_presorted = prepared_->presorted && walks_.current() == 0;
  if (program().grouped) {
    mode_ = Mode::grouping;
  } else if (program().distinct) {
    mode_ = Mode::distinct;
  } else if (gone_rows_) {
    mode_ = Mode::sorting;
  } else if (!program().order_by.empty() && (!is_presorted || program().is_merged_by_client)) {
    mode_ = Mode::sorting;
    reads_in_runs_ = walks_.current() == 0 && may_read_in_runs(*prepared_);
  } else if (program().has_distinct_source()) {
    mode_ = Mode::sorting;  // a later page does not know what earlier pages returned
  }
  if (prepared_->continuation) resume(*prepared_->continuation);
  if (!prepared_->may_sort_instead()) begin_turns();  // the plans continue where they were
  if (page_.takes_nothing()) finished_ = scanned_ = true;
  prepare_collection();
  if (!collector_.keeps_all() && resume_key_.is_far()) resume_key_.seek();
}

void SqlExecution::Implementation::prepare_collection() {
  // One more than the page can have, to know whether anything follows.
  std::uint64_t wanted = PageLimits::add_saturated(page_.rows_left(), 1);
  // Those that were given out before are told from the others when they are there, too.
  wanted = PageLimits::add_saturated(wanted, resume_key_.rows_before());
  // A walk in runs collects rows of the page until there are enough, which may be any number. A sort that replaces a
  // walk must not need more memory than that.
  constexpr std::size_t pages_held = 2;
  const bool is_limited = reads_in_runs_ || is_left();
  collector_.begin(static_cast<std::size_t>(wanted), is_limited ? pages_held * options_.page_bytes_max : SIZE_MAX);
}

void SqlExecution::Implementation::resume(const Continuation& continuation) {
  page_.resume(continuation.skip, continuation.left);
  if (continuation.names_row()) {
    resume_key_.resume(continuation);
    go_to_start();
    return;
  }
  if (gone_rows_) return resume_key_.set(gone_rows_->key_behind(continuation.key, continuation.positions));
  if (mode_ != Mode::streaming) return;
  if (!program().reads_items) {
    walk().position.key = continuation.key;
    combinations_.continue_after(continuation.positions);
    return;
  }
  if (plan().branches.empty()) return;
  walk().branch = std::min<std::size_t>(continuation.branch, plan().branches.size() - 1);
  walk().position.key = continuation.key;
  left_walk_.reach(continuation.key);
  const bool down = plan().descending;
  if (!continuation.positions.empty()) {
    walk().inside = continuation.key;
    combinations_.continue_after(continuation.positions);
    if (branch().index && down) walk().position.key = after(continuation.key);
  } else if (branch().index && !down) {
    walk().position.key = after(continuation.key);
  }
}

// Goes to the first row that equals the last row of the previous page. With another index, or none, all rows are
// walked.
void SqlExecution::Implementation::go_to_start() {
  if (!reads_in_runs_ || !continues_in_order(*prepared_)) return;
  const std::string& start = prepared_->continuation->start;
  walk().position.key = plan().descending ? after(start) : start;
  runs_.begin_page(start);
}

// Combinations of a JOIN are begun on a worker, and cannot be begun again.
std::chrono::steady_clock::time_point SqlExecution::Implementation::interrupt_time() {
  constexpr auto never = std::chrono::steady_clock::time_point::max();
  const bool first = std::exchange(first_slice_, false);
  return first && program().sources.empty() && until_ != never ? until_ + first_slice_grace : never;
}

// A query of one physical partition is valid only while the partition exists: see is_in_scope.
Expected<ScanState> SqlExecution::Implementation::run(partitioning::ScanBudget budget) {
  auto state = run_slice(budget);
  const bool was_split = scope_.physical_partition && !database_->is_current(*scope_.physical_partition);
  if (state && was_split) return storage::PhysicalPartition::was_split();
  return state;
}

Expected<ScanState> SqlExecution::Implementation::run_slice(partitioning::ScanBudget budget) {
  std::size_t rows_left = budget.rows_max;
  until_ = budget.until;
  evaluation_.begin_slice(until_, interrupt_time());
  if (!scanned_) {
    while (!scanned_) {
      OCTAVO_TRY(const ScanState state, scan(rows_left));
      if (sort_overflowed_) {
        return_to_walk();
        continue;
      }
      if (state == ScanState::more) {
        if (!is_turn_over()) return state;
        end_turn();
        continue;
      }
      if (resume_key_.is_sought()) {
        resume_key_.end_search();
        restart_walk();
      } else if (resume_key_.may_be_lost() && collector_.has_lost(resume_key_)) {
        // So many rows were written before the key since the previous page that the kept rows end before it.
        resume_key_.seek();
        restart_walk();
      } else {
        scanned_ = true;
      }
    }
    if (page_.looks_ahead() && !finished_) next_.reset();  // nothing follows
    prepare_results();
    if (evaluation_.failed()) return std::unexpected(evaluation_.error());
  }
  return mode_ == Mode::streaming ? ScanState::done : write_results();
}

// Begins another walk: to search for the last row of the previous page, for the rows that follow it, or by another
// plan.
void SqlExecution::Implementation::restart_walk() {
  finished_ = false;
  walk().restart();
  combinations_.restart();
  runs_.restart();
  prepare_collection();
  go_to_start();
}

Expected<ScanState> SqlExecution::Implementation::scan(std::size_t& rows_left) {
  if (!program().reads_items) {
    OCTAVO_TRY(const Flow flow, take_without_items());
    return flow == Flow::pause ? ScanState::more : ScanState::done;
  }
  if (prepared_->over_source && options_.source != nullptr) return run_source(rows_left);
  const auto& partition_id = partitions_.current();
  if (!partition_id) return walk().run(slice(rows_left), *this);
  while (true) {
    const auto& map = database_->partition_map();
    auto parts = partitioning::parts_of(map, *partition_id);
    if (parts.partition_ids.empty()) return fail(ErrorCode::bad_request, std::string(foreign_continuation_reason));
    walk().parts = std::move(parts.partition_ids);
    narrow_turn(parts);
    if (partitions_.count()) ++statistics_.ranges_read;
    auto state = walk().run(slice(rows_left), *this);
    if (!state || *state == ScanState::more) return state;
    if (finished_ || !partitions_.next(map, parts.range.last, scope_)) return ScanState::done;
    walks_.begin_again(statistics_);
    if (page_.looks_ahead()) {  // looking into the next partition would cost as much as beginning it
      finished_ = true;
      return ScanState::done;
    }
    if (options_.may_stop) return ScanState::more;  // before the next one is charged
  }
}

// A physical partition that was merged is read as the part of the new one that it was: the rest is read in its own
// turn.
void SqlExecution::Implementation::narrow_turn(const partitioning::RangeParts& parts) {
  turn_scope_.reset();
  if (!parts.hold_more) return;
  turn_scope_ = scope_;
  auto first = parts.range.first;
  auto end = parts.range.last + 1;
  if (scope_.hash_range) {
    first = std::max(first, scope_.hash_range->first);
    end = std::max(first, std::min(end, scope_.hash_range->second));
  }
  turn_scope_->hash_range = {first, end};
}

PlanWalk::Slice SqlExecution::Implementation::slice(std::size_t& rows_left) {
  return {.database = *database_,
          .plan = plan(),
          .scope = turn_scope_ ? *turn_scope_ : scope_,
          .rows_left = rows_left,
          .until = until_,
          .keys_examined = statistics_.keys_examined,
          .counts_all_ids = true};
}

// --- outside ---

SqlExecution::SqlExecution(std::shared_ptr<partitioning::Database> database,
                           std::shared_ptr<const PreparedSql> prepared, SqlOptions options)
    : implementation_(std::make_unique<Implementation>(std::move(database), std::move(prepared), std::move(options))) {}
SqlExecution::SqlExecution(SqlExecution&&) noexcept = default;
SqlExecution::~SqlExecution() = default;

Expected<ScanState> SqlExecution::run(partitioning::ScanBudget budget) {
  return implementation_->run(budget);
}
bool SqlExecution::is_resumable() const {
  return implementation_->is_resumable();
}
bool SqlExecution::stop() {
  return implementation_->stop();
}
std::string& SqlExecution::output() {
  return implementation_->output();
}
boost::json::array SqlExecution::explain_reads() const {
  return implementation_->explain_reads();
}
const SqlStatistics& SqlExecution::statistics() const {
  return implementation_->statistics();
}
std::optional<std::string> SqlExecution::continuation() const {
  return implementation_->continuation();
}

}  // namespace octavo::query::sql
