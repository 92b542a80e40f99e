// Reads for a query: from an index or from the documents, down to the combinations of a JOIN.
#include <algorithm>
#include <utility>

#include "base/murmur3.h"
#include "query/index/index_entry.h"
#include "query/selector/match_budget.h"
#include "query/sql/run/sql_run.h"
#include "query/walk/document_lookup.h"

namespace octavo::query::sql {

namespace {

using partitioning::Visit;

// Combinations of a JOIN between two readings of the clock.
constexpr std::size_t kCombinationsBetweenLooks = 64;

}  // namespace

// --- index ---

Expected<ScanState> SqlExecution::Implementation::run_index(std::size_t& rows_left) {
  const bool down = plan().descending;
  const auto& ranges = branch().bounds.ranges;
  if (ranges.empty()) return ScanState::done;
  OCTAVO_TRY(IndexReader reader,
             IndexReader::open(*database_, *branch().index, {scope_.partition_key, partition_id_read()}));
  DocumentLookup documents(*database_, reader.documents());
  if (!entry_filter_) entry_filter_.emplace(branch());
  std::optional<Leap> leap;
  if (!branch().leaps.empty()) {
    OCTAVO_TRY(leap, Leap::open(*database_, branch(), {scope_.partition_key, scope_.physical_partition}, leap_,
                                [this] { return is_turn_over(); }));
  }
  return walk_index(
      reader, ranges, down, position_, rows_left, until_, statistics_.keys_examined,
      [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
        const bool is_enough = output_.size() >= kSqlOutputBytesMax || evaluation_.is_late();
        if (is_enough || is_turn_over()) return WalkStep::stop_before;
        OCTAVO_TRY(const Flow flow, take_entry(entry, reader, documents));
        if (flow == Flow::pause) return WalkStep::stop_before;
        return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
      },
      leap ? &*leap : nullptr);
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_entry(const storage::KeyValue& entry,
                                                                                      const IndexReader& reader,
                                                                                      DocumentLookup& documents) {
  const auto row = IndexRow::decode(entry.key, entry.value);
  if (!row) return fail(ErrorCode::corrupted, "An entry of index " + branch().index->definition->name + " is damaged.");
  if (has_looked_enough()) return end_page();
  if (turns_) begin_entry(entry.key);
  for (const std::size_t column : branch().columns_that_must_exist) {
    if (row->field(column).empty()) return Flow::next;
  }
  if (!is_in_scope(row->document_id())) return Flow::next;
  if (reads_in_runs_ && is_off_page(*row)) return Flow::next;
  OCTAVO_TRY(const bool wanted, entry_filter_->passes(reader, row->document_id(), statistics_.keys_examined));
  if (!wanted) return Flow::next;
  OCTAVO_TRY(const auto found, documents.find(row->document_id()));
  if (!found.document || found.document->deleted) return Flow::next;
  entry_fields_ = row->field_keys();
  return take_document(*found.document, entry.key);
}

// --- primary ---

Expected<ScanState> SqlExecution::Implementation::run_primary(std::size_t& rows_left) {
  const auto& ranges = branch().id_ranges;
  for (; position_.range < ranges.size(); ++position_.range) {
    const IdRange& range = ranges[plan().descending ? ranges.size() - 1 - position_.range : position_.range];
    auto state = range.is_point() ? run_points(rows_left) : run_id_range(range, rows_left);
    if (!state || *state == ScanState::more) return state;
    if (finished_) return ScanState::done;
    scan_.reset();
  }
  return ScanState::done;
}

Expected<ScanState> SqlExecution::Implementation::run_points(std::size_t& rows_left) {
  const bool down = plan().descending;
  const auto& ranges = branch().id_ranges;
  const std::string& id = *ranges[down ? ranges.size() - 1 - position_.range : position_.range].start;
  if (rows_left == 0 || output_.size() >= kSqlOutputBytesMax || is_turn_over()) return ScanState::more;
  --rows_left;
  const bool is_inside = inside_ && id == *inside_;
  const bool behind = position_.key && !is_inside && (down ? id >= *position_.key : id <= *position_.key);
  const std::string& key = scope_.partition_key;
  const bool in_partition =
      key.empty() || (id.starts_with(key) && std::string_view(id).substr(key.size()).starts_with(':'));
  if (behind || !in_partition || !is_in_scope(id)) return ScanState::done;
  if (partition_id_ && std::ranges::find(parts_, database_->locate_document(id)) == parts_.end()) {
    return ScanState::done;
  }
  OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(id));
  OCTAVO_TRY(const auto document, snapshot.find(id));
  ++statistics_.keys_examined;
  if (!document || document->deleted) return ScanState::done;
  OCTAVO_TRY(const Flow flow, take_document(*document, document->id));
  return flow == Flow::pause ? ScanState::more : ScanState::done;
}

Expected<ScanState> SqlExecution::Implementation::run_id_range(const IdRange& range, std::size_t& rows_left) {
  const bool down = plan().descending;
  if (!scan_) {
    partitioning::DocumentRange bounds = documents_in(range, down, position_.key);
    if (!scope_.partition_key.empty()) bounds.partition_key = scope_.partition_key;
    bounds.physical_partition = scope_.physical_partition;
    if (partition_id_) bounds.partition_ids = [this] { return parts_; };
    scan_ = std::make_unique<partitioning::DocumentScan>(*database_, std::move(bounds));
  }
  if (rows_left == 0) return ScanState::more;
  const auto& first = down ? range.end : range.start;
  const bool first_inclusive = down ? range.end_inclusive : range.start_inclusive;
  Visited visited;
  std::size_t rows = 0;
  const auto state =
      scan_->run({rows_left, until_}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
        ++rows;
        if (document.deleted) return Visit::next;
        if (first && !first_inclusive && document.id == *first) return Visit::next;
        const bool is_inside = inside_ && document.id == *inside_;
        if (position_.key && !is_inside && document.id == *position_.key) return Visit::next;
        if (!is_in_scope(document.id)) return Visit::next;
        return visit(document, visited);
      });
  rows_left -= std::min(rows, rows_left);
  if (visited.failure) return std::unexpected(*std::move(visited.failure));
  if (state && visited.paused_inside) {
    // The scan considers this document done.
    position_.key = inside_;
    scan_.reset();
    return ScanState::more;
  }
  if (state && finished_) return ScanState::done;
  return state;
}

partitioning::Visit SqlExecution::Implementation::visit(const storage::DocumentView& document, Visited& visited) {
  ++statistics_.keys_examined;
  const auto flow = take_document(document, document.id);
  if (!flow) {
    visited.failure = flow.error();
    return Visit::stop;
  }
  if (*flow == Flow::finished) return Visit::stop;
  visited.paused_inside = *flow == Flow::pause;
  const bool enough = visited.paused_inside || output_.size() >= kSqlOutputBytesMax || evaluation_.is_late();
  return enough || is_turn_over() ? Visit::pause : Visit::next;
}

// --- other documents than the database's ---

Expected<ScanState> SqlExecution::Implementation::run_source(std::size_t& rows_left) {
  if (finished_) return ScanState::done;
  Visited visited;
  // After a continuation: the document after which, or inside which, to continue.
  const std::optional<std::string> begin = position_.key;
  auto state = options_.source->scan(position_.key, {rows_left, until_}, [&](const storage::DocumentView& document) {
    const bool is_inside = inside_ && document.id == *inside_;
    if (begin && !is_inside && document.id == *begin) return Visit::next;
    return visit(document, visited);
  });
  if (visited.failure) return std::unexpected(*std::move(visited.failure));
  if (state && visited.paused_inside) {
    position_.key = inside_;
    return ScanState::more;
  }
  return state;
}

// --- documents ---

bool SqlExecution::Implementation::is_in_scope(std::string_view id) const {
  // In a single physical partition only its own documents are read, except by their ids: see run_points.
  if (parts_.size() > 1 && std::ranges::find(parts_, database_->locate_document(id)) == parts_.end()) return false;
  if (scope_.physical_partition && database_->locate_document(id) != *scope_.physical_partition) return false;
  if (!id.starts_with(scope_.id_prefix)) return false;
  if (!scope_.hash_range) return true;
  const auto position = partitioning::hash_position(id, database_->partitioned(), database_->key_scheme());
  return position >= scope_.hash_range->first && position < scope_.hash_range->second;
}

// In a union: whether the document matches this branch's side of the condition, and none of the earlier ones, which
// have already returned it.
Expected<bool> SqlExecution::Implementation::is_of_branch(const storage::DocumentView& document) {
  const auto& branches = plan().branches;
  if (branches.size() == 1) return true;
  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  std::string revision;
  document.revision.append_to(revision);
  MatchBudget budget(match_steps_per_document_max);
  const SelectorSubject subject{.body = root, .id = document.id, .rev = revision, .deleted = false, .attachments = {}};
  OCTAVO_TRY(const bool is_match, matches_within(branches[branch_].selector, subject, budget));
  if (!is_match) return false;
  for (std::size_t i = 0; i < branch_; ++i) {
    OCTAVO_TRY(const bool is_of_other, matches_within(branches[i].selector, subject, budget));
    if (is_of_other) return false;
  }
  return true;
}

Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_document(
    const storage::DocumentView& stored, std::string_view position) {
  const storage::DocumentView* changed = options_.source != nullptr ? options_.source->changed(stored.id) : nullptr;
  const storage::DocumentView& document = changed != nullptr ? *changed : stored;
  is_changed_ = changed != nullptr;
  if (options_.may_stop) {
    visited_ = std::string(position);
    visited_branch_ = branch_;
    visited_partition_id_ = partition_id_;
  }
  if (turns_) begin_entry(position);
  if (document.deleted) return Flow::next;
  if (has_looked_enough()) return end_page();
  const bool is_inside = inside_ && position == *inside_;
  if (!is_inside) {
    inside_.reset();
    inside_positions_.clear();
  }
  if (!prepared_->shape->is_row(document)) return Flow::next;
  ++statistics_.documents_examined;
  statistics_.document_bytes += document.body.size();
  OCTAVO_TRY(const bool wanted, is_of_branch(document));
  if (!wanted) return Flow::next;
  evaluation_.row.bind(document);
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (!program().sources.empty()) return take_combinations(position);
  const Flow flow = take_row(position);
  if (has_taken_row()) return evaluated(flow);
  inside_ = std::string(position);
  --statistics_.documents_examined;
  return Flow::pause;
}

// Records that a walk that may be left has reached this position: nothing before it is needed any more.
void SqlExecution::Implementation::begin_entry(std::string_view position) {
  if (plan_ != 0) return;
  walked_to_ = position;
  if (!inside_ || position == *inside_) return;
  inside_.reset();
  inside_positions_.clear();
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
  from_.begin(inside_positions_);
  std::size_t taken = 0;
  while (from_.next(evaluation_)) {
    const Flow flow = take_row(position);
    check_memory(distinct_elements_.bytes());
    if (evaluation_.failed() || flow == Flow::finished) return evaluated(flow);
    evaluation_.begin_item();
    ++taken;
    const bool late = taken % kCombinationsBetweenLooks == 0 &&
                      until_ != std::chrono::steady_clock::time_point::max() &&
                      std::chrono::steady_clock::now() >= until_;
    if (late || evaluation_.is_late() || output_.size() >= kSqlOutputBytesMax) {
      inside_ = std::string(position);
      inside_positions_ = from_.positions();
      return Flow::pause;
    }
  }
  inside_.reset();
  inside_positions_.clear();
  check_memory(distinct_elements_.bytes());
  return evaluated(Flow::next);
}

// A query that reads no items has one row, or the rows that it makes itself.
Expected<SqlExecution::Implementation::Flow> SqlExecution::Implementation::take_without_items() {
  evaluation_.arena.rewind({});
  evaluation_.begin_item();
  if (program().sources.empty()) {
    if (position_.key) return Flow::finished;  // by a continuation: it was returned before
    const Flow flow = take_row("");
    return has_taken_row() ? evaluated(flow) : Flow::pause;
  }
  return take_combinations("");
}

}  // namespace octavo::query::sql
