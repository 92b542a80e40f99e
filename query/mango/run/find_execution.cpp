#include "query/mango/run/find_execution.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "query/selector/match_budget.h"
#include "query/walk/storage_statistics.h"

namespace octavo::query {

namespace {

using partitioning::ScanState;

}  // namespace

FindExecution::FindExecution(std::shared_ptr<partitioning::Database> database,
                             std::shared_ptr<const PreparedFind> prepared, std::string partition_key,
                             std::size_t sort_bytes_max)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      scope_{.partition_key = std::move(partition_key)},
      documents_expire_(database_->has_time_to_live()),
      walks_(prepared_->plans, prepared_->walked, prepared_->bookmark.has_value()),
      skip_left_(prepared_->request.skip),
      limit_left_(prepared_->request.limit),
      renderer_(*prepared_),
      sorter_(prepared_->request.sort, prepared_->request.matches_needed(), sort_bytes_max),
      page_end_(*prepared_) {
  const FindRequest& request = prepared_->request;
  if (request.aggregation) {
    aggregator_.emplace(request, sort_bytes_max);
    skip_left_ = 0;
    limit_left_ = std::numeric_limits<std::uint64_t>::max();
  }
  if (limit_left_ == 0 || plan().branches.empty()) finished_ = scanned_ = true;
  // A sort in memory skips the rows up to the bookmark one by one, in keep_for_sort.
  if (const auto& bookmark = prepared_->bookmark; bookmark && !finished_ && !plan().sort_in_memory) {
    walk().branch = std::min<std::size_t>(bookmark->branch, plan().branches.size() - 1);
    auto& key = walk().position.key;
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
  }
  if (!plan().sort_in_memory && !aggregator_) return ScanState::done;
  if (!is_collected_) OCTAVO_TRY_VOID(collect());
  return write_waiting();
}

// Whether the result is the number of documents, which the storage keeps.
bool FindExecution::counts_everything() const {
  const FindRequest& request = prepared_->request;
  return aggregator_ && !documents_expire_ && !request.aggregation->rows && request.selector.fields_used().empty() &&
         !request.selector.needs_whole_document();
}

Expected<void> FindExecution::count_everything() {
  StorageStatistics statistics(*database_, scope_.partition_key);
  OCTAVO_TRY(const auto all, statistics.documents());
  std::uint64_t documents = all.count;
  if (scope_.partition_key.empty()) {
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
    auto state = walk().run({.database = *database_,
                             .plan = plan(),
                             .scope = scope_,
                             .rows_left = rows_left,
                             .until = until_,
                             .keys_examined = statistics_.keys_examined,
                             .counts_all_ids = false},
                            *this);
    if (!state && sorter_.has_overflowed() && walks_.takes_turns()) {
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

// --- what the walk asks and tells ---

// Ends a slice whose documents are expensive to match after about 10 ms, or after one document.
bool FindExecution::is_enough() const {
  return output_.is_full() || match_steps_ >= match_steps_per_slice;
}

FindExecution::Flow FindExecution::see_entry(std::string_view key) {
  page_end_.see(key, walk().branch);
  return Flow::next;
}

Expected<FindExecution::Flow> FindExecution::take_entry(const IndexRow& row, std::string_view position,
                                                        DocumentLookup& documents) {
  if (!plan().covering) return Flow::load;
  if (walks_.has_left()) {
    OCTAVO_TRY(const bool returned, was_returned(row, documents));
    if (returned) return Flow::next;
  }
  if (documents_expire_) return Flow::load;
  return take_covered(row, position);
}

Expected<FindExecution::Flow> FindExecution::take_covered(const IndexRow& row, std::string_view position) {
  if (branch().recheck) {
    std::string text;
    prepared_->coverings[walks_.current()].document.append(
        text, [&](std::size_t column, const FieldPath&) { return row.field(column); });
    OCTAVO_TRY(const auto root, parser_.parse(text));
    MatchBudget budget(match_steps_per_document_max);
    OCTAVO_TRY(const bool is_match, matches(branch().selector, root, row.document_id(), {}, budget));
    if (!is_match) return Flow::next;
  }
  FindMatch match;
  match.row = &row;
  return emit(match, position);
}

Expected<FindExecution::Flow> FindExecution::take_document(const WalkedDocument& found) {
  if (plan().covering) return take_covered(*found.row, found.position);
  const storage::DocumentView& document = found.document;
  page_end_.see(found.position, walk().branch);
  ++statistics_.documents_examined;
  statistics_.document_bytes += document.body.size();
  FindMatch match;
  match.document = &document;
  match.snapshot = found.snapshot;
  const bool everything = branch().selector.fields_used().empty() && !branch().selector.needs_whole_document();
  const bool sort = plan().sort_in_memory;
  if ((!found.recheck || everything) && walk().branch == 0 && !sort && !walks_.has_left()) {
    return emit(match, found.position);
  }
  std::string with_conflicts;
  if (prepared_->tests_conflicts && found.snapshot != nullptr) {
    OCTAVO_TRY_VOID(renderer_.append_with_conflicts(with_conflicts, document, *found.snapshot));
  }
  OCTAVO_TRY(const auto root, parser_.parse(with_conflicts.empty() ? document.body : with_conflicts));
  revision_.clear();
  if (prepared_->reads_revision) document.revision.append_to(revision_);
  MatchBudget budget(match_steps_per_document_max);  // of all branches together
  const auto is_match = [&](const Selector& selector) {
    return matches(selector, root, document.id, revision_, budget);
  };
  OCTAVO_TRY(const bool is_result, walk().is_of_branch(plan(), found.recheck, is_match));
  if (!is_result) return Flow::next;
  walk().note_result();
  OCTAVO_TRY(const bool returned, was_returned(root, document));
  if (returned) return Flow::next;
  if (sort) return keep_for_sort(root, match);
  return emit(match, found.position);
}

Expected<bool> FindExecution::matches(const Selector& selector, simdjson::dom::element root, std::string_view id,
                                      std::string_view revision, MatchBudget& budget) {
  const std::uint64_t taken_before = budget.steps_taken();
  auto is_match =
      matches_within(selector, {.body = root, .id = id, .rev = revision, .deleted = false, .attachments = {}}, budget);
  match_steps_ += budget.steps_taken() - taken_before;
  return is_match;
}

}  // namespace octavo::query
