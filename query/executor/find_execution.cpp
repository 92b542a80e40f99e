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

namespace octavo::query {

namespace {

using partitioning::ScanState;
using partitioning::Visit;

// A slice ends when this much waits to be sent.
constexpr std::size_t kOutputBytesMax = 64 * 1024;
constexpr double kScanWarningRatio = 10;  // CouchDB's index_scan_warning_threshold

void append_json_array(std::string& out, const std::vector<std::string>& items) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, items[i]);
  }
  out += ']';
}

}  // namespace

FindExecution::FindExecution(std::shared_ptr<partitioning::Database> database,
                             std::shared_ptr<const PreparedFind> prepared, std::string partition_key,
                             std::size_t sort_bytes_max, std::chrono::steady_clock::time_point started)
    : database_(std::move(database)),
      prepared_(std::move(prepared)),
      partition_key_(std::move(partition_key)),
      sort_bytes_max_(sort_bytes_max),
      started_(started),
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
  return aggregator_ && !request.aggregation->rows && request.selector.fields_used().empty() &&
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
  // A global index may be behind the document, which is therefore always tested.
  const bool recheck = branch().recheck || !reader.documents();
  return walk_index(reader, ranges, down, position_, rows_left, until_, statistics_.keys_examined,
                    [&](const storage::KeyValue& entry) -> Expected<WalkStep> {
                      if (output_.size() >= kOutputBytesMax) return WalkStep::stop_before;
                      OCTAVO_TRY(const Flow flow, take_row(entry, documents, recheck));
                      return flow == Flow::finished ? WalkStep::finish : WalkStep::next;
                    });
}

Expected<FindExecution::Flow> FindExecution::take_row(const storage::KeyValue& entry, DocumentLookup& documents,
                                                      bool recheck) {
  const auto row = IndexRow::decode(entry.key, entry.value);
  if (!row) return fail(ErrorCode::corrupted, "An entry of index " + branch().index->definition->name + " is damaged.");
  for (const std::size_t column : branch().columns_that_must_exist) {
    if (row->field(column).empty()) return Flow::next;
  }
  if (prepared_->plan.covering) return take_covered(*row, entry.key);

  OCTAVO_TRY(const auto found, documents.find(row->document_id()));
  if (!found.document || found.document->deleted) return Flow::next;
  return take_document(*found.document, *found.snapshot, entry.key, recheck);
}

Expected<FindExecution::Flow> FindExecution::take_covered(const IndexRow& row, std::string_view position) {
  if (branch().recheck) {
    std::string text;
    prepared_->covering_document.append(text, [&](std::size_t column, const FieldPath&) { return row.field(column); });
    OCTAVO_TRY(const auto root, parser_.parse(text));
    if (!branch().selector.matches(root, row.document_id(), {})) return Flow::next;
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
      if (rows_left == 0 || output_.size() >= kOutputBytesMax) return ScanState::more;
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
    partitioning::DocumentRange bounds;
    bounds.descending = down;
    bounds.start = down ? range.end : range.start;
    bounds.end = down ? range.start : range.end;
    bounds.end_inclusive = down ? range.start_inclusive : range.end_inclusive;
    if (position_.key &&
        (!bounds.start || (down ? *position_.key < *bounds.start : *position_.key > *bounds.start))) {
      bounds.start = position_.key;
    }
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
        return output_.size() >= kOutputBytesMax ? Visit::pause : Visit::next;
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
  ++statistics_.documents_examined;
  Result result;
  result.document = &document;
  result.snapshot = &snapshot;
  const bool everything = branch().selector.fields_used().empty() && !branch().selector.needs_whole_document();
  const bool sort = prepared_->plan.sort_in_memory;
  if ((!recheck || everything) && branch_ == 0 && !sort) return emit(result, position);

  OCTAVO_TRY(const auto root, parser_.parse(document.body));
  if (!passes(root, document.id, &document.revision, recheck)) return Flow::next;
  if (sort) return keep_for_sort(root, result);
  return emit(result, position);
}

bool FindExecution::passes(simdjson::dom::element root, std::string_view id, const storage::Revision* revision,
                           bool recheck) {
  scratch_.clear();
  if (prepared_->reads_revision) revision->append_to(scratch_);
  const auto& branches = prepared_->plan.branches;
  if (recheck && !branches[branch_].selector.matches(root, id, scratch_)) return false;
  // What an earlier side of a union matches, it has returned already.
  for (std::size_t i = 0; i < branch_; ++i) {
    if (branches[i].selector.matches(root, id, scratch_)) return false;
  }
  return true;
}

Expected<FindExecution::Flow> FindExecution::emit(const Result& result, std::string_view position) {
  if (aggregator_) {
    OCTAVO_TRY_VOID(aggregate(result));
    return Flow::next;
  }
  if (skip_left_ > 0) {
    --skip_left_;
    return Flow::next;
  }
  if (!first_) output_ += ",\n";
  first_ = false;
  OCTAVO_TRY_VOID(append_result(output_, result));
  ++statistics_.results_returned;
  remember(position);
  if (--limit_left_ > 0) return Flow::next;
  finished_ = true;
  return Flow::finished;
}

void FindExecution::remember(std::string_view position) {
  if (!last_) last_.emplace();
  last_->key.assign(position);
  last_->branch = branch_;
  if (!last_->identity.empty() || !branch().index) return;
  last_->identity = branch().index->definition->identity;
}

Expected<void> FindExecution::append_conflicts(std::string& out, const storage::DocumentView& document,
                                               const storage::Snapshot& snapshot, bool& any) {
  any = false;
  if (!prepared_->request.conflicts || !document.has_conflicts) return {};
  OCTAVO_TRY(const auto tree, snapshot.revision_tree(document));
  std::vector<std::string> conflicts;
  for (const auto* leaf : tree.leaves()) {
    if (!leaf->deleted && leaf->revision != document.revision) conflicts.push_back(leaf->revision.to_string());
  }
  if (conflicts.empty()) return {};
  any = true;
  append_json_array(out, conflicts);
  return {};
}

Expected<void> FindExecution::append_result(std::string& out, const Result& result) {
  if (result.row) {
    prepared_->projection.append(out,
                                 [&](std::size_t field, const FieldPath&) { return covered_text(*result.row, field); });
    return {};
  }
  const storage::DocumentView& document = *result.document;
  bool has_conflicts = false;
  std::string conflicts;
  OCTAVO_TRY_VOID(append_conflicts(conflicts, document, *result.snapshot, has_conflicts));

  if (prepared_->projection.whole()) {
    out += "{\"_id\":";
    append_json_string(out, document.id);
    out += ",\"_rev\":\"";
    // Only a replicated revision can hold a character to escape, and then it is text.
    if (document.revision.hash.is_digest()) {
      document.revision.append_to(out);
      out += '"';
    } else {
      out.pop_back();
      append_json_string(out, document.revision.to_string());
    }
    if (document.body.size() > 2) {
      out += ',';
      out.append(document.body.substr(1, document.body.size() - 2));
    }
    if (has_conflicts) out.append(",\"_conflicts\":").append(conflicts);
    out += '}';
    return {};
  }
  prepared_->projection.append(
      out, [&](std::size_t, const FieldPath& path) { return document_text(document, path, conflicts); });
  return {};
}

std::string_view FindExecution::covered_text(const IndexRow& row, std::size_t field) {
  const std::ptrdiff_t column = prepared_->covering_columns[field];
  if (column >= 0) return row.field(static_cast<std::size_t>(column));
  scratch_.clear();
  append_json_string(scratch_, row.document_id());
  return scratch_;
}

std::string_view FindExecution::document_text(const storage::DocumentView& document, const FieldPath& path,
                                              std::string_view conflicts) {
  const std::string& first = path.parts()[0].name;
  if (first.size() < 2 || first[0] != '_' || path.parts().size() > 1) return find_raw_field(document.body, path);
  if (first == "_conflicts") return conflicts;
  if (first != "_id" && first != "_rev") return find_raw_field(document.body, path);
  scratch_.clear();
  append_json_string(scratch_, first == "_id" ? std::string(document.id) : document.revision.to_string());
  return scratch_;
}

Expected<void> FindExecution::aggregate(const Result& result) {
  return aggregator_->add([&](std::size_t field, const FieldPath& path) {
    return result.row ? covered_text(*result.row, field) : document_text(*result.document, path, {});
  });
}

// --- sort in memory ---

// False when the document lacks a field that is sorted by: like the entries of CouchDB's indexes, results have them
// all.
bool FindExecution::make_sort_key(simdjson::dom::element root, const storage::DocumentView& document) {
  sort_key_.clear();
  const auto append_text = [&](std::string_view text, bool descending) {
    const std::size_t start = sort_key_.size();
    append_sort_key_of_string(sort_key_, text, StringOrder::bytes);
    if (!descending) return;
    for (std::size_t i = start; i < sort_key_.size(); ++i) sort_key_[i] = static_cast<char>(~sort_key_[i]);
  };
  const auto& sort = prepared_->request.sort;
  for (const OrderedField& field : sort) {
    if (field.path.is("_id")) {
      append_text(document.id, field.descending);
    } else if (field.path.is("_rev")) {
      append_text(document.revision.to_string(), field.descending);
    } else if (const auto found = find_field(root, field.path)) {
      if (field.descending) {
        append_sort_key_descending(sort_key_, found.value);
      } else {
        append_sort_key(sort_key_, found.value);
      }
    } else {
      return false;
    }
  }
  // Ties in the order an index would have.
  append_text(document.id, sort[0].descending);
  return true;
}

Expected<FindExecution::Flow> FindExecution::keep_for_sort(simdjson::dom::element root, const Result& result) {
  if (!make_sort_key(root, *result.document)) return Flow::next;
  if (prepared_->bookmark && sort_key_ <= prepared_->bookmark->key) return Flow::next;
  const auto key = [](const SortedRow& row) -> std::string_view { return row.key; };
  if (sorted_.size() >= sorted_max_) {
    // No row beyond skip + limit can be in the result.
    if (sort_key_ >= sorted_.front().key) return Flow::next;
    std::ranges::pop_heap(sorted_, {}, key);
    sorted_bytes_ -= sorted_.back().key.size() + sorted_.back().text.size() + sizeof(SortedRow);
    sorted_.pop_back();
  }
  SortedRow row;
  row.key = sort_key_;
  OCTAVO_TRY_VOID(append_result(row.text, result));
  sorted_bytes_ += row.key.size() + row.text.size() + sizeof(SortedRow);
  if (sorted_bytes_ > sort_bytes_max_) {
    return std::unexpected(missing_sort_index(prepared_->request, database_->partitioned()));
  }
  sorted_.push_back(std::move(row));
  std::ranges::push_heap(sorted_, {}, key);
  return Flow::next;
}

ScanState FindExecution::write_sorted() {
  for (; sorted_position_ < sorted_.size(); ++sorted_position_) {
    if (output_.size() >= kOutputBytesMax) return ScanState::more;
    if (!first_) output_ += ",\n";
    first_ = false;
    output_ += sorted_[sorted_position_].text;
    ++statistics_.results_returned;
  }
  if (statistics_.results_returned > 0 && !aggregator_) {
    last_.emplace();
    last_->kind = Bookmark::Kind::sorted;
    last_->key = sorted_.back().key;
  }
  return ScanState::done;
}

// --- tail ---

void FindExecution::append_tail(std::string& out) const {
  const FindRequest& request = prepared_->request;
  const Plan& plan = prepared_->plan;
  if (aggregator_ && request.aggregation->count) {
    out += ",\n\"count\":";
    append_json_number(out, aggregator_->count());
  }
  out += ",\n\"bookmark\":";
  if (last_) {
    Bookmark bookmark = *last_;
    if (!plan.sort_in_memory) {
      if (plan.branches.size() > 1) {
        bookmark.kind = Bookmark::Kind::combined;
        bookmark.identity.clear();
      } else {
        bookmark.kind = plan.uses_primary() ? Bookmark::Kind::primary : Bookmark::Kind::index;
      }
    }
    append_json_string(out, bookmark.encode());
  } else {
    append_json_string(out, request.bookmark ? *request.bookmark : std::string("nil"));
  }
  if (request.execution_stats) {
    // With r > 1 every document counts as read by quorum, though one copy is the quorum of a single server.
    const bool quorum = request.r > 1;
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - started_;
    fmt::format_to(std::back_inserter(out),
                   ",\n\"execution_stats\":{{\"total_keys_examined\":{},\"total_docs_examined\":{},"
                   "\"total_quorum_docs_examined\":{},\"results_returned\":{},\"execution_time_ms\":{:.3f}}}",
                   statistics_.keys_examined, quorum ? 0 : statistics_.documents_examined,
                   quorum ? statistics_.documents_examined : 0, statistics_.results_returned, elapsed.count());
  }
  std::string warning;
  for (const std::string& line : plan.warnings) {
    if (!warning.empty()) warning += '\n';
    warning += line;
  }
  const double ratio = static_cast<double>(statistics_.documents_examined) /
                       static_cast<double>(std::max<std::uint64_t>(1, statistics_.results_returned));
  if (ratio > kScanWarningRatio && !aggregator_) {
    if (!warning.empty()) warning += '\n';
    warning +=
        "The number of documents examined is high in proportion to the number of results returned. Consider adding a "
        "more specific index to improve this.";
  }
  if (!warning.empty()) {
    out += ",\n\"warning\":";
    append_json_string(out, warning);
  }
}

}  // namespace octavo::query
