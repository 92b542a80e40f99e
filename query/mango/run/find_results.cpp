// Makes results of the matching documents of a _find: at once, or at the end if they are sorted or aggregated.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "query/collation/sort_key.h"
#include "query/index/raw_field.h"
#include "query/json/document_text.h"
#include "query/mango/run/find_execution.h"
#include "query/walk/gone_index.h"

namespace octavo::query {

namespace {

using partitioning::ScanState;

void append_json_array(std::string& out, const std::vector<std::string>& items) {
  out += '[';
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ',';
    append_json_string(out, items[i]);
  }
  out += ']';
}

}  // namespace

Expected<FindExecution::Flow> FindExecution::emit(const Result& result, std::string_view position) {
  if (aggregator_) {
    OCTAVO_TRY_VOID(aggregate(result));
    return Flow::next;
  }
  if (skip_left_ > 0) {
    --skip_left_;
    return Flow::next;
  }
  OCTAVO_TRY_VOID(append_result(output_.begin(), result));
  ++statistics_.results_returned;
  remember(position, walk().branch);
  if (--limit_left_ > 0) return Flow::next;
  finished_ = true;
  return Flow::finished;
}

void FindExecution::remember(std::string_view position, std::size_t branch) {
  if (!last_ || last_->branch != branch || last_plan_ != walks_.current()) {
    last_.emplace();
    last_->branch = branch;
    last_plan_ = walks_.current();
    if (const auto& index = plan().branches[branch].index) last_->identity = index->definition->identity;
  }
  last_->key.assign(position);
}

void FindExecution::visit(std::string_view position) {
  if (!stoppable_) return;
  visited_ = std::string(position);
  visited_branch_ = walk().branch;
}

bool FindExecution::stop() {
  // A bookmark does not store how many results are still to be skipped.
  if (!is_resumable() || finished_ || !visited_ || skip_left_ > 0) return false;
  remember(*visited_, visited_branch_);
  finished_ = scanned_ = true;
  return true;
}

Expected<void> FindExecution::append_conflicts(std::string& out, const storage::DocumentView& document,
                                               const storage::Snapshot& snapshot, bool& any) {
  any = false;
  if (!prepared_->request.conflicts || !document.has_conflicts) return {};
  OCTAVO_TRY(const auto tree, snapshot.revision_branches(document));
  std::vector<std::string> conflicts;
  for (const auto* leaf : tree.leaves()) {
    if (!leaf->deleted && leaf->revision != document.revision) conflicts.push_back(leaf->revision.to_string());
  }
  if (conflicts.empty()) return {};
  any = true;
  append_json_array(out, conflicts);
  return {};
}

// Appends the body with its conflicts, for a selector that tests them; nothing if the document has none.
Expected<void> FindExecution::add_conflicts(std::string& out, const storage::DocumentView& document,
                                            const storage::Snapshot& snapshot) {
  bool has_conflicts = false;
  std::string conflicts;
  OCTAVO_TRY_VOID(append_conflicts(conflicts, document, snapshot, has_conflicts));
  if (!has_conflicts) return {};
  out.assign(document.body, 0, document.body.size() - 1);
  if (out.size() > 1) out += ',';
  out += "\"_conflicts\":" + conflicts + "}";
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
    begin_document(out, document.id, document.revision, document.body);
    if (has_conflicts) out.append(",\"_conflicts\":").append(conflicts);
    out += '}';
    return {};
  }
  OCTAVO_TRY_VOID(prepared_->projection.check_cost(document.id, document.body.size()));
  prepared_->projection.append(
      out, [&](std::size_t, const FieldPath& path) { return document_text(document, path, conflicts); });
  return {};
}

std::string_view FindExecution::covered_text(const IndexRow& row, std::size_t field) {
  const std::ptrdiff_t column = prepared_->coverings[walks_.current()].columns[field];
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

// False if the document lacks a sort field: results have all of them, like the entries of CouchDB's indexes.
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
  // Orders equal keys as an index would.
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
    sort_overflowed_ = true;
    return std::unexpected(missing_sort_index(prepared_->request, database_->partitioned()));
  }
  sorted_.push_back(std::move(row));
  std::ranges::push_heap(sorted_, {}, key);
  return Flow::next;
}

ScanState FindExecution::write_sorted() {
  for (; sorted_position_ < sorted_.size(); ++sorted_position_) {
    if (output_.is_full()) return ScanState::more;
    output_.add(sorted_[sorted_position_].text);
    ++statistics_.results_returned;
  }
  // If the sort has no row to return, the page ended with what a walk returned before it, or is empty.
  if (sorted_.size() > skip_left_ && !aggregator_) {
    last_.emplace();
    last_->kind = Bookmark::Kind::sorted;
    last_plan_ = walks_.current();
    last_->key = sorted_.back().key;
  }
  return ScanState::done;
}

// --- the end of a page ---

std::optional<std::string> FindExecution::next_bookmark() const {
  if (!last_) return std::nullopt;
  Bookmark bookmark = *last_;
  const Plan& by = prepared_->plans[last_plan_];
  if (!by.sort_in_memory) {
    if (by.branches.size() > 1) {
      bookmark.kind = Bookmark::Kind::combined;
    } else {
      bookmark.kind = by.uses_primary() ? Bookmark::Kind::primary : Bookmark::Kind::index;
    }
    // The documents themselves are only described as a side of a union: another side may lose its index.
    if (const auto& index = by.branches[bookmark.branch].index) {
      bookmark.index = describe_index(*index->definition, by.descending);
    } else if (by.branches.size() > 1) {
      GoneIndex documents;
      documents.down = by.descending;
      bookmark.index = documents.to_text();
    }
  }
  add_turns(bookmark);
  return bookmark.encode();
}

std::optional<std::uint64_t> FindExecution::count() const {
  if (!aggregator_ || !prepared_->request.aggregation->count) return std::nullopt;
  return aggregator_->count();
}

}  // namespace octavo::query
