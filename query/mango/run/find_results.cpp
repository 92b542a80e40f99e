// Makes results of the matching documents of a _find: at once, or at the end if they are sorted or aggregated.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// --- results that wait ---

Expected<FindExecution::Flow> FindExecution::keep_for_sort(simdjson::dom::element root, const FindMatch& match) {
  if (!sorter_.make_key(root, *match.document)) return Flow::next;
  if (prepared_->bookmark && sorter_.key() <= prepared_->bookmark->key) return Flow::next;
  if (!sorter_.has_room()) return Flow::next;
  std::string text;
  OCTAVO_TRY_VOID(renderer_.append(text, match, walks_.current()));
  if (sorter_.add(std::move(text))) return Flow::next;
  return std::unexpected(missing_sort_index(prepared_->request, database_->partitioned()));
}

Expected<void> FindExecution::collect() {
  is_collected_ = true;
  if (aggregator_) {
    OCTAVO_TRY(waiting_, aggregator_->take_rows());
    return {};
  }
  waiting_ = sorter_.take(skip_left_);
  // If the sort has no row to return, the page ended with what a walk returned before it, or is empty.
  if (waiting_.empty()) return {};
  last_.emplace();
  last_->kind = Bookmark::Kind::sorted;
  last_plan_ = walks_.current();
  last_->key = sorter_.last_key();
  return {};
}

ScanState FindExecution::write_waiting() {
  for (; written_ < waiting_.size(); ++written_) {
    if (output_.is_full()) return ScanState::more;
    output_.add(waiting_[written_]);
    ++statistics_.results_returned;
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
