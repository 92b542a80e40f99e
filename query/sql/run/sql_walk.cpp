// Takes what a query's walk reads, down to the combinations of a JOIN.
#include <utility>

#include "query/index/index_entry.h"
#include "query/selector/match_budget.h"
#include "query/sql/run/internal/sql_run.h"

namespace octavo::query::sql {

namespace {

// Combinations of a JOIN between two readings of the clock.
constexpr std::size_t combinations_between_looks = 64;

}  // namespace

// --- what the walk asks and tells ---

SqlExecution::Implementation::Flow SqlExecution::Implementation::see_entry(std::string_view key) {
  if (has_looked_enough()) return end_page();
  if (walks_.takes_turns()) begin_entry(key);
  return Flow::next;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_entry(
    const IndexRow& row, std::string_view /*position*/, const DocumentLookup& /*documents*/) {
  return reads_in_runs_ && is_off_page(row) ? Flow::next : Flow::load;
}

// --- other documents than the database's ---

Expected<ScanState> SqlExecution::Implementation::run_source(std::size_t& rows_left) {
  if (finished_) return ScanState::done;
  const PlanWalk::Slice read = slice(rows_left);
  PlanWalk::Visited visited;
  auto& from = walk().position.key;
  // After a continuation: the document after which, or inside which, to continue.
  const std::optional<std::string> begin = from;
  auto state = options_.source->scan(from, {rows_left, until_}, [&](const storage::DocumentView& document) {
    if (begin == document.id && walk().inside != document.id) return partitioning::Visit::next;
    return PlanWalk::visit(read, {.document = document, .position = document.id}, visited, *this);
  });
  if (visited.failure) return std::unexpected(*std::move(visited.failure));
  if (!state || !visited.left_at) return state;
  from = std::move(visited.left_at);
  return ScanState::more;
}

// --- documents ---

// In a union: whether the document matches this branch's side of the condition, and none of the earlier ones, which
// have already returned it.
Expected<bool> SqlExecution::Implementation::is_of_branch(const storage::DocumentView& document) {
  if (plan().branches.size() == 1) return true;
  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  std::string revision;
  document.revision.append_to(revision);
  MatchBudget budget(match_steps_per_document_max);
  const SelectorSubject subject{.body = root, .id = document.id, .rev = revision, .deleted = false, .attachments = {}};
  const auto is_match = [&](const Selector& selector) { return matches_within(selector, subject, budget); };
  return walk().is_of_branch(plan(), true, is_match);
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_document(const WalkedDocument& found) {
  const storage::DocumentView& stored = found.document;
  const std::string_view position = found.position;
  if (found.row != nullptr) runs_.see_entry(found.row->field_keys());
  const storage::DocumentView* changed = options_.source != nullptr ? options_.source->changed(stored.id) : nullptr;
  const storage::DocumentView& document = changed != nullptr ? *changed : stored;
  is_changed_ = changed != nullptr;
  if (options_.may_stop) {
    if (!visited_) visited_.emplace();
    visited_->key = position;
    visited_->branch = walk().branch;
    visited_->partition_id = partitions_.current();
  }
  if (walks_.takes_turns()) begin_entry(position);
  if (document.deleted) return Flow::next;
  if (has_looked_enough()) return end_page();
  if (walk().inside != position) {
    walk().inside.reset();
    combinations_.end_document();
  }
  if (!prepared_->shape->is_row(document)) return Flow::next;
  ++statistics_.documents_examined;
  statistics_.document_bytes += document.body.size();
  OCTAVO_TRY(const bool wanted, is_of_branch(document));
  if (!wanted) return Flow::next;
  evaluation_.row.bind(document);
  was_returned_.reset();
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (!program().sources.empty()) return take_combinations(position);
  const Flow flow = take_row(position);
  if (has_taken_row()) return evaluated(flow);
  walk().inside = std::string(position);
  --statistics_.documents_examined;
  return Flow::pause;
}

// Records that a walk that may be left has reached this position: nothing before it is needed any more.
void SqlExecution::Implementation::begin_entry(std::string_view position) {
  if (plan().sort_in_memory) return;
  left_walk_.reach(position);
  if (!walk().inside || position == *walk().inside) return;
  walk().inside.reset();
  combinations_.end_document();
}

bool SqlExecution::Implementation::has_taken_row() {
  if (!evaluation_.interrupted()) return true;
  evaluation_.resume();
  return false;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::evaluated(Flow flow) const {
  if (evaluation_.failed()) return std::unexpected(evaluation_.error());
  return flow;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_combinations(
    std::string_view position) {
  combinations_.begin();
  std::size_t taken = 0;
  while (combinations_.next(evaluation_)) {
    const Flow flow = take_row(position);
    check_memory(combinations_.distinct_bytes());
    if (evaluation_.failed() || flow == Flow::finished) return evaluated(flow);
    evaluation_.begin_item();
    ++taken;
    const bool late = taken % combinations_between_looks == 0 &&
                      until_ != std::chrono::steady_clock::time_point::max() &&
                      std::chrono::steady_clock::now() >= until_;
    if (late || is_enough()) {
      walk().inside = std::string(position);
      combinations_.leave();
      return Flow::pause;
    }
  }
  walk().inside.reset();
  combinations_.end_document();
  check_memory(combinations_.distinct_bytes());
  return evaluated(Flow::next);
}

// A query that reads no items has one row, or the rows that it makes itself.
Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_without_items() {
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (program().sources.empty()) {
    if (walk().position.key) return Flow::finished;  // by a continuation: it was returned before
    const Flow flow = take_row("");
    return has_taken_row() ? evaluated(flow) : Flow::pause;
  }
  return take_combinations("");
}

}  // namespace octavo::query::sql
