#include "query/executor/find_execution.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "query/collation/sort_key.h"
#include "query/executor/document_lookup.h"
#include "query/executor/storage_statistics.h"
#include "query/index/raw_field.h"
#include "query/json/writer.h"
#include "query/selector/match_budget.h"

namespace octavo::query {

namespace {

using partitioning::ScanState;
using partitioning::Visit;

}  // namespace

FindExecution::FindExecution(std::shared_ptr<partitioning::Database> database,
                             std::shared_ptr<const PreparedFind> prepared, std::string partition_key,
                             std::size_t sort_bytes_max, std::chrono::steady_clock::time_point started)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      partition_key_(std::move(partition_key)),
      sort_bytes_max_(sort_bytes_max),
      started_(started),
      documents_end_(database_->has_time_to_live()),
      skip_left_(prepared_->request.skip),
      limit_left_(prepared_->request.limit) {
  const FindRequest& request = prepared_->request;
  sorted_max_ = request.matches_needed();
  if (request.aggregation) {
    aggregator_.emplace(request, sort_bytes_max_);
    skip_left_ = 0;
    limit_left_ = std::numeric_limits<std::uint64_t>::max();
  }
  if (limit_left_ == 0 || prepared_->plan.branches.empty()) finished_ = scanned_ = true;
  // A sort in memory skips what the bookmark names row by row, in keep_for_sort.
  if (const auto& bookmark = prepared_->bookmark; bookmark && !finished_ && !prepared_->plan.sort_in_memory) {
    branch_ = std::min<std::size_t>(bookmark->branch, prepared_->plan.branches.size() - 1);
    position_.key = bookmark->key;
    // What follows a key, walking up, begins at the key with the lowest byte after it.
    if (branch().index && !prepared_->plan.descending) *position_.key += '\0';
  }
}

Expected<ScanState> FindExecution::run(partitioning::ScanBudget budget) {
  std::size_t rows_left = budget.rows_max;
  until_ = budget.until;
  match_steps_ = 0;
  if (!scanned_) {
    OCTAVO_TRY(const ScanState state, scan(rows_left));
    if (state == ScanState::more) return state;
    scanned_ = true;
    std::ranges::sort(sorted_, {}, &SortedRow::key);
    sorted_position_ = std::min<std::uint64_t>(prepared_->request.skip, sorted_.size());
  }
  if (aggregator_ && !aggregated_) {
    OCTAVO_TRY(auto rows, aggregator_->take_rows());
    for (std::string& row : rows) sorted_.push_back({.key = {}, .text = std::move(row)});
    aggregated_ = true;
  }
  return prepared_->plan.sort_in_memory || aggregator_ ? write_sorted() : ScanState::done;
}

// The storage keeps the number of documents.
bool FindExecution::counts_everything() const {
  const FindRequest& request = prepared_->request;
  return aggregator_ && !documents_end_ && !request.aggregation->rows && request.selector.fields_used().empty() &&
         !request.selector.needs_whole_document();
}

Expected<void> FindExecution::count_everything() {
  StorageStatistics statistics(*database_, partition_key_);
  OCTAVO_TRY(std::uint64_t documents, statistics.documents());
  if (partition_key_.empty()) {
    OCTAVO_TRY(const std::uint64_t design_documents, statistics.design_documents());
    documents -= std::min(documents, design_documents);
  }
  aggregator_->add_count(documents);
  return {};
}

Expected<ScanState> FindExecution::scan(std::size_t& rows_left) {
  if (counts_everything()) {
    OCTAVO_TRY_VOID(count_everything());
    return ScanState::done;
  }
  for (; branch_ < prepared_->plan.branches.size() && !finished_; ++branch_) {
    auto state = branch().index ? run_index(rows_left) : run_primary(rows_left);
    if (!state || *state == ScanState::more) return state;
    entry_filter_.reset();
    position_.range = 0;
    position_.key.reset();
    scan_.reset();
  }
  return ScanState::done;
}

// --- index ---

Expected<ScanState> FindExecution::run_index(std::size_t& rows_left) {
  const bool down = prepared_->plan.descending;
  const auto& ranges = branch().bounds.ranges;
  if (ranges.empty()) return ScanState::done;
  OCTAVO_TRY(IndexReader reader, IndexReader::open(*database_, *branch().index, {partition_key_, std::nullopt}));
  DocumentLookup documents(*database_, reader.documents());
  if (!entry_filter_) entry_filter_.emplace(branch());
  // A global index may be behind the document, which is therefore always tested.
  const bool recheck = branch().recheck || !reader.documents();
  return walk_index(reader, ranges, down, position_, rows_left, until_, statistics_.keys_examined,
                    [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
                      if (output_.size() >= find_output_bytes_max || has_worked_enough()) return WalkStep::stop_before;
                      OCTAVO_TRY(const Flow flow, take_row(entry, reader, documents, recheck));
                      return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
                    });
}

Expected<FindExecution::Flow> FindExecution::take_row(const storage::KeyValue& entry, const IndexReader& reader,
                                                      DocumentLookup& documents, bool recheck) {
  const auto row = IndexRow::decode(entry.key, entry.value);
  if (!row) return fail(ErrorCode::corrupted, "An entry of index " + branch().index->definition->name + " is damaged.");
  visit(entry.key);
  for (const std::size_t column : branch().columns_that_must_exist) {
    if (row->field(column).empty()) return Flow::next;
  }
  if (prepared_->plan.covering && !documents_end_) return take_covered(*row, entry.key);

  OCTAVO_TRY(const bool wanted, entry_filter_->passes(reader, row->document_id(), statistics_.keys_examined));
  if (!wanted) return Flow::next;
  OCTAVO_TRY(const auto found, documents.find(row->document_id()));
  if (!found.document || found.document->deleted) return Flow::next;
  if (prepared_->plan.covering) return take_covered(*row, entry.key);
  return take_document(*found.document, *found.snapshot, entry.key, recheck);
}

Expected<FindExecution::Flow> FindExecution::take_covered(const IndexRow& row, std::string_view position) {
  if (branch().recheck) {
    std::string text;
    prepared_->covering_document.append(text, [&](std::size_t column, const FieldPath&) { return row.field(column); });
    OCTAVO_TRY(const auto root, parser_.parse(text));
    OCTAVO_TRY(const bool is_match, matches(branch().selector, root, row.document_id(), {}));
    if (!is_match) return Flow::next;
  }
  Result result;
  result.row = &row;
  return emit(result, position);
}

// --- primary ---

Expected<ScanState> FindExecution::run_primary(std::size_t& rows_left) {
  const auto& ranges = branch().id_ranges;
  const bool down = prepared_->plan.descending;
  for (; position_.range < ranges.size(); ++position_.range) {
    const IdRange& range = ranges[down ? ranges.size() - 1 - position_.range : position_.range];
    if (range.is_point()) {
      if (rows_left == 0 || output_.size() >= find_output_bytes_max || has_worked_enough()) return ScanState::more;
      --rows_left;
      const bool behind = position_.key && (down ? *range.start >= *position_.key : *range.start <= *position_.key);
      const bool inside = partition_key_.empty() || (range.start->starts_with(partition_key_) &&
                                                     range.start->substr(partition_key_.size()).starts_with(':'));
      if (behind || !inside || storage::is_design_id(*range.start)) continue;
      OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(*range.start));
      OCTAVO_TRY(const auto document, snapshot.find(*range.start));
      if (!document || document->deleted) continue;
      ++statistics_.keys_examined;
      OCTAVO_TRY(const Flow flow, take_document(*document, snapshot, document->id, branch().recheck));
      if (flow == Flow::finished) return ScanState::done;
      continue;
    }
    OCTAVO_TRY(const ScanState state, run_id_range(range, rows_left));
    if (state == ScanState::more) return state;
    if (finished_) return ScanState::done;
    scan_.reset();
  }
  return ScanState::done;
}

Expected<ScanState> FindExecution::run_id_range(const IdRange& range, std::size_t& rows_left) {
  const bool down = prepared_->plan.descending;
  if (!scan_) {
    partitioning::DocumentRange bounds = documents_in(range, down, position_.key);
    if (!partition_key_.empty()) bounds.partition_key = partition_key_;
    scan_ = std::make_unique<partitioning::DocumentScan>(*database_, std::move(bounds));
  }
  if (rows_left == 0) return ScanState::more;
  const auto& first = down ? range.end : range.start;
  const bool first_inclusive = down ? range.end_inclusive : range.start_inclusive;
  std::optional<Error> failure;
  std::size_t rows = 0;
  const auto state =
      scan_->run({rows_left, until_}, [&](const storage::DocumentView& document, const storage::Snapshot& snapshot) {
        ++rows;
        if (document.deleted || storage::is_design_id(document.id)) return Visit::next;
        if (first && !first_inclusive && document.id == *first) return Visit::next;
        if (position_.key && document.id == *position_.key) return Visit::next;
        ++statistics_.keys_examined;
        const auto flow = take_document(document, snapshot, document.id, branch().recheck);
        if (!flow) {
          failure = flow.error();
          return Visit::stop;
        }
        if (*flow == Flow::finished) return Visit::stop;
        return output_.size() >= find_output_bytes_max || has_worked_enough() ? Visit::pause : Visit::next;
      });
  rows_left -= std::min(rows, rows_left);
  if (failure) return std::unexpected(*std::move(failure));
  if (state && finished_) return ScanState::done;
  return state;
}

// --- documents ---

Expected<FindExecution::Flow> FindExecution::take_document(const storage::DocumentView& document,
                                                           const storage::Snapshot& snapshot, std::string_view position,
                                                           bool recheck) {
  visit(position);
  ++statistics_.documents_examined;
  statistics_.document_bytes += document.body.size();
  Result result;
  result.document = &document;
  result.snapshot = &snapshot;
  const bool everything = branch().selector.fields_used().empty() && !branch().selector.needs_whole_document();
  const bool sort = prepared_->plan.sort_in_memory;
  if ((!recheck || everything) && branch_ == 0 && !sort) return emit(result, position);

  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  OCTAVO_TRY(const bool is_result, passes(root, document.id, &document.revision, recheck));
  if (!is_result) return Flow::next;
  if (sort) return keep_for_sort(root, result);
  return emit(result, position);
}

Expected<bool> FindExecution::matches(const Selector& selector, simdjson::dom::element root, std::string_view id,
                                      std::string_view revision) {
  MatchBudget budget(match_steps_per_document_max);
  const bool is_match =
      matches_within(selector, {.body = root, .id = id, .rev = revision, .deleted = false, .attachments = {}}, budget);
  match_steps_ += budget.steps_taken();
  if (budget.is_exhausted()) {
    return fail(
        ErrorCode::too_large,
        fmt::format("The selector takes too much time for the document {}; use fewer conditions on the elements "
                    "of arrays, or simpler regular expressions.",
                    id));
  }
  return is_match;
}

// A slice of documents that each cost much ends after about 10 ms, or after one document.
bool FindExecution::has_worked_enough() const {
  constexpr std::uint64_t slice_steps = 500'000;
  return match_steps_ >= slice_steps;
}

Expected<bool> FindExecution::passes(simdjson::dom::element root, std::string_view id,
                                     const storage::Revision* revision, bool recheck) {
  scratch_.clear();
  if (prepared_->reads_revision) revision->append_to(scratch_);
  const auto& branches = prepared_->plan.branches;
  if (recheck) {
    OCTAVO_TRY(const bool is_match, matches(branches[branch_].selector, root, id, scratch_));
    if (!is_match) return false;
  }
  // What an earlier side of a union matches, it has returned already.
  for (std::size_t i = 0; i < branch_; ++i) {
    OCTAVO_TRY(const bool is_match, matches(branches[i].selector, root, id, scratch_));
    if (is_match) return false;
  }
  return true;
}

}  // namespace octavo::query
