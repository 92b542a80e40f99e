// Makes results of the matching documents of a _find: at once, or at the end if they are sorted or aggregated.
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "query/mango/run/find_execution.h"

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
  page_end_.move_to(position, walk().branch, walks_.current());
  if (--limit_left_ > 0) return Flow::next;
  finished_ = true;
  return Flow::finished;
}

bool FindExecution::stop() {
  // A bookmark does not store how many results are still to be skipped.
  if (!is_resumable() || finished_ || skip_left_ > 0 || !page_end_.move_to_seen(walks_.current())) return false;
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
  if (!waiting_.empty()) page_end_.move_to_sorted(sorter_.last_key(), walks_.current());
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
  auto bookmark = page_end_.bookmark();
  if (!bookmark) return std::nullopt;
  bookmark->left = left_of(walks_.parts_of_others(page_end_.plan()),
                           [this](const WalkedPart& part) { return page_end_.describe(part); });
  // A page that ended before it was full gives the next one no new budget.
  if (walks_.takes_turns() && limit_left_ > 0) {
    bookmark->spent = static_cast<std::uint64_t>(std::ceil(walks_.spent(statistics_) * 100));
  }
  return bookmark->encode(database_->token_origin());
}

std::optional<std::uint64_t> FindExecution::count() const {
  if (!aggregator_ || !prepared_->request.aggregation->count) return std::nullopt;
  return aggregator_->count();
}

}  // namespace octavo::query
