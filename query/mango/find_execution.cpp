#include "query/mango/find_execution.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/json_writer.h"
#include "query/collation/sort_key.h"
#include "query/index/raw_field.h"
#include "query/selector/match_budget.h"
#include "query/walk/document_lookup.h"
#include "query/walk/storage_statistics.h"

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
      documents_expire_(database_->has_time_to_live()),
      skip_left_(prepared_->request.skip),
      limit_left_(prepared_->request.limit) {
  const FindRequest& request = prepared_->request;
  sorted_max_ = request.matches_needed();
  if (request.aggregation) {
    aggregator_.emplace(request, sort_bytes_max_);
    skip_left_ = 0;
    limit_left_ = std::numeric_limits<std::uint64_t>::max();
  }
  progress_.resize(prepared_->plans.size());
  if (limit_left_ == 0 || plan().branches.empty()) finished_ = scanned_ = true;
  // A sort in memory skips the rows up to the bookmark one by one, in keep_for_sort.
  if (const auto& bookmark = prepared_->bookmark; bookmark && !finished_ && !plan().sort_in_memory) {
    progress().branch = std::min<std::size_t>(bookmark->branch, plan().branches.size() - 1);
    auto& key = progress().position.key;
    key = bookmark->key;
    // Walking up, the entries after a key begin at the key followed by the lowest byte.
    if (branch().index && !plan().descending) *key += '\0';
  }
  begin_turns();
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
    sorted_position_ = aggregator_ ? 0 : std::min<std::uint64_t>(skip_left_, sorted_.size());
  }
  if (aggregator_ && !aggregated_) {
    OCTAVO_TRY(auto rows, aggregator_->take_rows());
    for (std::string& row : rows) sorted_.push_back({.key = {}, .text = std::move(row)});
    aggregated_ = true;
  }
  return plan().sort_in_memory || aggregator_ ? write_sorted() : ScanState::done;
}

// Whether the result is the number of documents, which the storage keeps.
bool FindExecution::counts_everything() const {
  const FindRequest& request = prepared_->request;
  return aggregator_ && !documents_expire_ && !request.aggregation->rows && request.selector.fields_used().empty() &&
         !request.selector.needs_whole_document();
}

Expected<void> FindExecution::count_everything() {
  StorageStatistics statistics(*database_, partition_key_);
  OCTAVO_TRY(const auto all, statistics.documents());
  std::uint64_t documents = all.count;
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
  while (true) {
    auto state = scan_branches(rows_left);
    if (!state && sort_overflowed_ && turns_) {
      give_up_sorting();
      continue;
    }
    if (!state) return state;
    if (*state == ScanState::done) {
      if (!finished_) remember_end();
      return state;
    }
    if (!is_turn_over()) return state;
    end_turn();
  }
}

Expected<ScanState> FindExecution::scan_branches(std::size_t& rows_left) {
  for (auto& at = progress(); at.branch < plan().branches.size() && !finished_; ++at.branch) {
    auto state = branch().index ? run_index(rows_left) : run_primary(rows_left);
    if (!state || *state == ScanState::more) return state;
    at.filter.reset();
    at.leap = {};
    at.position = {};
    scan_.reset();
  }
  return ScanState::done;
}

// --- index ---

Expected<ScanState> FindExecution::run_index(std::size_t& rows_left) {
  const bool down = plan().descending;
  const auto& ranges = branch().bounds.ranges;
  if (ranges.empty()) return ScanState::done;
  OCTAVO_TRY(IndexReader reader, IndexReader::open(*database_, *branch().index, {partition_key_, std::nullopt}));
  DocumentLookup documents(*database_, reader.documents());
  auto& at = progress();
  if (!at.filter) at.filter.emplace(branch());
  std::optional<Leap> leap;
  if (!branch().leaps.empty()) {
    OCTAVO_TRY(leap, Leap::open(*database_, branch(), {partition_key_, std::nullopt}, at.leap,
                                [this] { return is_turn_over(); }));
  }
  return walk_index(
      reader, ranges, down, at.position, rows_left, until_, statistics_.keys_examined,
      [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
        const bool is_enough = output_.size() >= find_output_bytes_max || has_worked_enough();
        if (is_enough || is_turn_over()) return WalkStep::stop_before;
        OCTAVO_TRY(const Flow flow, take_row(entry, reader, documents));
        return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
      },
      leap ? &*leap : nullptr);
}

Expected<FindExecution::Flow> FindExecution::take_row(const storage::KeyValue& entry, const IndexReader& reader,
                                                      DocumentLookup& documents) {
  const auto row = IndexRow::decode(entry.key, entry.value);
  if (!row) return fail(ErrorCode::corrupted, "An entry of index " + branch().index->definition->name + " is damaged.");
  visit(entry.key);
  for (const std::size_t column : branch().columns_that_must_exist) {
    if (row->field(column).empty()) return Flow::next;
  }
  if (plan().covering && !left_.empty()) {
    OCTAVO_TRY(const bool returned, was_returned(*row, documents));
    if (returned) return Flow::next;
  }
  if (plan().covering && !documents_expire_) return take_covered(*row, entry.key);

  OCTAVO_TRY(const bool wanted, progress().filter->passes(reader, row->document_id(), statistics_.keys_examined));
  if (!wanted) return Flow::next;
  OCTAVO_TRY(const auto found, documents.find(row->document_id()));
  if (!found.document || found.document->deleted) return Flow::next;
  if (plan().covering) return take_covered(*row, entry.key);
  // A document that changed after the entries were read may not match any more.
  const bool recheck = branch().recheck || found.document->sequence > reader.exact_through();
  return take_document(*found.document, *found.snapshot, entry.key, recheck);
}

Expected<FindExecution::Flow> FindExecution::take_covered(const IndexRow& row, std::string_view position) {
  if (branch().recheck) {
    std::string text;
    prepared_->coverings[plan_].document.append(
        text, [&](std::size_t column, const FieldPath&) { return row.field(column); });
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
  const bool down = plan().descending;
  auto& at = progress().position;
  for (; at.range < ranges.size(); ++at.range) {
    const IdRange& range = ranges[down ? ranges.size() - 1 - at.range : at.range];
    if (range.is_point()) {
      const bool is_enough = output_.size() >= find_output_bytes_max || has_worked_enough();
      if (rows_left == 0 || is_enough || is_turn_over()) return ScanState::more;
      --rows_left;
      const bool behind = at.key && (down ? *range.start >= *at.key : *range.start <= *at.key);
      const bool inside = partition_key_.empty() || (range.start->starts_with(partition_key_) &&
                                                     range.start->substr(partition_key_.size()).starts_with(':'));
      if (behind || !inside || storage::is_design_id(*range.start)) continue;
      OCTAVO_TRY(const auto snapshot, database_->snapshot_for_document(*range.start));
      OCTAVO_TRY(const auto document, snapshot.find(*range.start));
      if (!document || document->deleted) continue;
      ++statistics_.keys_examined;
      if (turns_) at.key = range.start;
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
  const bool down = plan().descending;
  auto& at = progress().position;
  if (!scan_) {
    partitioning::DocumentRange bounds = documents_in(range, down, at.key);
    if (!partition_key_.empty()) bounds.partition_key = partition_key_;
    scan_ = std::make_unique<partitioning::DocumentScan>(*database_, std::move(bounds));
  }
  if (rows_left == 0) return ScanState::more;
  const auto& first = down ? range.end : range.start;
  const bool first_inclusive = down ? range.end_inclusive : range.start_inclusive;
  std::optional<Error> failure;
  std::size_t rows = 0;
  std::optional<std::string> last;  // the position at which the plan is left
  const auto state =
      scan_->run({rows_left, until_}, [&](const storage::DocumentView& document, const storage::Snapshot& snapshot) {
        ++rows;
        if (document.deleted || storage::is_design_id(document.id)) return Visit::next;
        if (first && !first_inclusive && document.id == *first) return Visit::next;
        if (at.key && document.id == *at.key) return Visit::next;
        ++statistics_.keys_examined;
        const auto flow = take_document(document, snapshot, document.id, branch().recheck);
        if (!flow) {
          failure = flow.error();
          return Visit::stop;
        }
        if (*flow == Flow::finished) return Visit::stop;
        const bool is_over = is_turn_over();
        if (is_over) last = document.id;
        return output_.size() >= find_output_bytes_max || has_worked_enough() || is_over ? Visit::pause : Visit::next;
      });
  rows_left -= std::min(rows, rows_left);
  if (failure) return std::unexpected(*std::move(failure));
  if (last) {
    at.key = std::move(last);
    scan_.reset();
  }
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
  const bool sort = plan().sort_in_memory;
  if ((!recheck || everything) && progress().branch == 0 && !sort && left_.empty()) return emit(result, position);

  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  OCTAVO_TRY(const bool is_result, passes(root, document.id, &document.revision, recheck));
  if (!is_result) return Flow::next;
  progress().leap.in_vain = 0;
  progress().leap.loaded = false;
  OCTAVO_TRY(const bool returned, was_returned(root, document));
  if (returned) return Flow::next;
  if (sort) return keep_for_sort(root, result);
  return emit(result, position);
}

Expected<bool> FindExecution::matches(const Selector& selector, simdjson::dom::element root, std::string_view id,
                                      std::string_view revision) {
  MatchBudget budget(match_steps_per_document_max);
  auto is_match =
      matches_within(selector, {.body = root, .id = id, .rev = revision, .deleted = false, .attachments = {}}, budget);
  match_steps_ += budget.steps_taken();
  return is_match;
}

// Ends a slice whose documents are expensive to match after about 10 ms, or after one document.
bool FindExecution::has_worked_enough() const {
  constexpr std::uint64_t slice_steps = 500'000;
  return match_steps_ >= slice_steps;
}

Expected<bool> FindExecution::passes(simdjson::dom::element root, std::string_view id,
                                     const storage::Revision* revision, bool recheck) {
  scratch_.clear();
  if (prepared_->reads_revision) revision->append_to(scratch_);
  const auto& branches = plan().branches;
  const std::size_t at = progress().branch;
  if (recheck) {
    OCTAVO_TRY(const bool is_match, matches(branches[at].selector, root, id, scratch_));
    if (!is_match) return false;
  }
  // An earlier side of a union has already returned what it matches.
  for (std::size_t i = 0; i < at; ++i) {
    OCTAVO_TRY(const bool is_match, matches(branches[i].selector, root, id, scratch_));
    if (is_match) return false;
  }
  return true;
}

}  // namespace octavo::query
