// Makes results of the matching documents of a _find: at once, or at the end if they are sorted or aggregated.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/collation/sort_key.h"
#include "query/mango/run/find_execution.h"
#include "query/walk/gone_index.h"

namespace octavo::query {

namespace {

using partitioning::ScanState;

}  // namespace

Expected<FindExecution::Flow> FindExecution::emit(const FindMatch& match, std::string_view position) {
  if (aggregator_) {
    OCTAVO_TRY_VOID(aggregate(match));
    return Flow::next;
  }
  if (skip_left_ > 0) {
    --skip_left_;
    return Flow::next;
  }
  OCTAVO_TRY_VOID(renderer_.append(output_.begin(), match, walks_.current()));
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

Expected<void> FindExecution::aggregate(const FindMatch& match) {
  return aggregator_->add([&](std::size_t field, const FieldPath& path) {
    return renderer_.field_text(match, walks_.current(), field, path);
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

Expected<FindExecution::Flow> FindExecution::keep_for_sort(simdjson::dom::element root, const FindMatch& match) {
  if (!make_sort_key(root, *match.document)) return Flow::next;
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
  OCTAVO_TRY_VOID(renderer_.append(row.text, match, walks_.current()));
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
