#include "query/view/view_scan.h"

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include "base/assert.h"
#include "query/json/parsed_document.h"
#include "query/json/split.h"

namespace octavo::query::views {

namespace {

// Groups of up to this many rows are reduced without the summaries.
constexpr std::size_t direct_rows_max = 256;

std::unexpected<Error> damaged_row() {
  return fail(ErrorCode::corrupted, "A row of a view is damaged.");
}

Expected<std::string> sort_key_of(const boost::json::value& key, StringOrder order) {
  DocumentParser parser;
  OCTAVO_TRY(const auto element, parser.parse(boost::json::serialize(key)));
  std::string sort_key;
  append_sort_key(sort_key, element, order);
  return sort_key;
}

/// The first elements of a JSON array.
Expected<std::string> first_elements(std::string_view array, std::uint64_t count) {
  OCTAVO_TRY(const auto elements, split_array(array));
  std::string cut = "[";
  for (std::size_t i = 0; i < std::min<std::uint64_t>(count, elements.size()); ++i) {
    if (i > 0) cut += ',';
    cut += elements[i];
  }
  cut += ']';
  return cut;
}

/// Postpones the work of a slow reducer until no snapshot is held: a snapshot held for seconds keeps the map from
/// growing, which makes all readers wait. While the snapshot is open, it copies the rows to reduce and returns an empty
/// state as their placeholder. For one range.
class DeferredReducer final : public Reducer {
 public:
  explicit DeferredReducer(const Reducer& reducer) : reducer_(reducer) {}

  Expected<std::string> reduce(std::span<const ViewRow> rows) const override {
    std::size_t bytes = 0;
    for (const auto& row : rows) bytes += row.escaped_id.size() + row.key.size() + row.value.size();
    Copy copy{std::make_unique<char[]>(bytes), {}};
    copy.rows.reserve(rows.size());
    char* end = copy.text.get();
    const auto keep = [&](std::string_view text) {
      char* const begin = std::exchange(end, std::ranges::copy(text, end).out);
      return std::string_view(begin, text.size());
    };
    for (const auto& row : rows) copy.rows.push_back({{}, keep(row.escaped_id), keep(row.key), keep(row.value)});
    copies_.push_back(std::move(copy));
    return std::string();
  }
  Expected<std::string> merge(std::span<const std::string_view> /*states*/) const override {
    return fail(ErrorCode::internal, "States of a deferred reduction are merged when it runs.");
  }
  Expected<std::string> finish(std::string_view state) const override { return reducer_.finish(state); }

  /// The value of all states, as JSON text. `states`: at least one, in the order of the rows; an empty one stands for
  /// the next of the copies, if any are left. Runs JavaScript.
  Expected<std::string> run(std::vector<std::string> states) const {
    for (auto& state : states) {
      if (!state.empty() || copies_.empty()) continue;
      OCTAVO_TRY(state, reducer_.reduce(copies_.front().rows));
      copies_.pop_front();
    }
    OCTAVO_ASSERT(!states.empty());
    if (states.size() == 1) return reducer_.finish(states.front());
    const std::vector<std::string_view> views(states.begin(), states.end());
    OCTAVO_TRY(const auto merged, reducer_.merge(views));
    return reducer_.finish(merged);
  }

 private:
  struct Copy {
    std::unique_ptr<char[]> text;
    std::vector<ViewRow> rows;  ///< in `text`
  };
  const Reducer& reducer_;
  mutable std::deque<Copy> copies_;  ///< mutable, because callers see a const Reducer
};

SummaryReader summaries_of(const ViewGroup& group, std::size_t view, const storage::ReadTransaction& transaction) {
  return {transaction, group.trees(), view, group.reducer(view)};
}

}  // namespace

Expected<RowRange> row_range(const ViewGroup& group, std::size_t view, std::string_view partition,
                             const KeyRange& keys) {
  const StringOrder order = group.definition().key_order();
  RowRange range;
  range.scope = group.definition().partitioned ? view_prefix(view, partition) : view_prefix(view);
  range.descending = keys.descending;
  range.low = range.scope;
  range.high = after_prefix(range.scope);
  std::string start;
  std::string end;
  if (keys.start) {
    OCTAVO_TRY(start, sort_key_of(*keys.start, order));
  }
  if (keys.end) {
    OCTAVO_TRY(end, sort_key_of(*keys.end, order));
  }
  if (keys.start && keys.end && start != end) {
    const bool less = start < end;
    if (less == keys.descending) {
      return fail(ErrorCode::bad_request,
                  std::string("No rows can match your key range, reverse your start_key and end_key or set "
                              "descending=") +
                      (keys.descending ? "false" : "true"),
                  "query_parse_error");
    }
  }
  const auto bound_of = [&](const std::string& sort_key, const std::optional<std::string>& document) {
    std::string bound = range.scope + sort_key;
    if (document) append_key_text(bound, *document);
    return bound;
  };
  if (keys.start) {
    auto bound = bound_of(start, keys.start_document);
    if (keys.descending) {
      range.high = after_prefix(std::move(bound));
    } else {
      range.low = std::move(bound);
    }
  }
  if (keys.end) {
    auto bound = bound_of(end, keys.end_document);
    // An inclusive range contains the rows at the bound itself.
    if (keys.descending) {
      range.low = keys.inclusive_end ? std::move(bound) : after_prefix(std::move(bound));
    } else {
      range.high = keys.inclusive_end ? after_prefix(std::move(bound)) : std::move(bound);
    }
  }
  return range;
}

Expected<RowCounts> count_rows(ViewGroup& group, std::size_t view, const RowRange& range) {
  OCTAVO_TRY(const auto transaction, group.read());
  const auto summaries = summaries_of(group, view, transaction);
  const std::uint64_t begin = summaries.rank(range.scope);
  const std::uint64_t end = summaries.rank(after_prefix(range.scope));
  const std::uint64_t low = summaries.rank(range.low);
  const std::uint64_t high = std::max(low, summaries.rank(range.high));
  RowCounts counts;
  counts.total = end - begin;
  counts.empty = low == high;
  if (!counts.empty) counts.offset = range.descending ? end - high : low - begin;
  return counts;
}

RowScan::RowScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t skip)
    : group_(std::move(group)), view_(view), range_(std::move(range)), skip_(skip) {}

Expected<void> RowScan::skip_rows(const storage::ReadTransaction& transaction) {
  const auto summaries = summaries_of(*group_, view_, transaction);
  const std::uint64_t low = summaries.rank(range_.low);
  const std::uint64_t high = std::max(low, summaries.rank(range_.high));
  const std::uint64_t skipped = std::min(skip_, high - low);
  skip_ -= skipped;
  if (skipped == high - low) {
    range_.low = range_.high;
  } else if (range_.descending) {
    const auto last = summaries.at(high - 1 - skipped);
    if (!last) return damaged_row();
    range_.high = *last + std::string(1, '\0');
  } else {
    const auto first = summaries.at(low + skipped);
    if (!first) return damaged_row();
    range_.low = *first;
  }
  return {};
}

Expected<partitioning::ScanState> RowScan::run(partitioning::ScanBudget budget,
                                               FunctionRef<partitioning::Visit(const ViewRow&)> visit) {
  using partitioning::ScanState;
  using partitioning::Visit;
  OCTAVO_TRY(const auto transaction, group_->read());
  if (skip_ > 0) OCTAVO_TRY_VOID(skip_rows(transaction));
  if (range_.low >= range_.high) return ScanState::done;
  storage::LongKeyCursor cursor(transaction, group_->trees().rows);
  std::optional<storage::KeyValue> entry;
  if (range_.descending) {
    entry = cursor.seek_back(range_.high);
    if (entry && entry->key == range_.high) entry = cursor.previous();
  } else {
    entry = cursor.seek(range_.low);
  }
  for (std::size_t seen = 0; seen < budget.rows_max; ++seen) {
    const bool inside = entry && (range_.descending ? entry->key >= range_.low : entry->key < range_.high);
    if (!inside) {
      range_.low = range_.high;
      return ScanState::done;
    }
    const auto row = read_row(entry->key, entry->value);
    if (!row) return damaged_row();
    const auto verdict = visit(*row);
    if (verdict == Visit::stop) {
      range_.low = range_.high;
      return ScanState::done;
    }
    if (verdict == Visit::pause || seen + 1 == budget.rows_max || budget.is_over_after(seen + 1)) {
      // A row's key ends with its ordinal, so no key is a prefix of another.
      if (range_.descending) {
        range_.high = entry->key;
      } else {
        range_.low = std::string(entry->key) + std::string(1, '\0');
      }
      return ScanState::more;
    }
    entry = range_.descending ? cursor.previous() : cursor.next();
  }
  return ScanState::more;
}

ReduceScan::ReduceScan(std::shared_ptr<ViewGroup> group, std::size_t view, RowRange range, std::uint64_t level)
    : group_(std::move(group)), view_(view), range_(std::move(range)), level_(level) {}

Expected<std::optional<ReduceScan::Group>> ReduceScan::next(bool skip) {
  if (range_.low >= range_.high) return std::nullopt;
  const StringOrder order = group_->definition().key_order();
  OCTAVO_ASSERT(group_->reducer(view_) != nullptr);
  const Reducer& reducer = *group_->reducer(view_);
  const DeferredReducer deferred(reducer);
  std::string low = range_.low;
  std::string high = range_.high;
  Group found{"null", {}};
  std::vector<std::string> states;
  {
    OCTAVO_TRY(const auto transaction, group_->read());
    storage::LongKeyCursor cursor(transaction, group_->trees().rows);
    std::optional<storage::KeyValue> entry;
    if (range_.descending) {
      entry = cursor.seek_back(high);
      if (entry && entry->key == high) entry = cursor.previous();
    } else {
      entry = cursor.seek(low);
    }
    const bool inside = entry && entry->key >= low && entry->key < high;
    if (!inside) {
      range_.low = range_.high;
      return std::nullopt;
    }
    const auto row = read_row(entry->key, entry->value);
    if (!row) return damaged_row();
    if (level_ != 0) {
      const auto sort_keys = entry->key.substr(range_.scope.size());
      auto group = level_ == exact ? std::string_view() : group_prefix(sort_keys, level_, order);
      const bool cut = !group.empty();
      if (!cut) group = sort_keys.substr(0, sort_key_length(sort_keys, false, order));
      if (group.empty()) return damaged_row();
      const std::string begin = range_.scope + std::string(group);
      low = std::max(low, begin);
      high = std::min(high, after_prefix(begin));
      found.key = row->key;
      if (cut) {
        OCTAVO_TRY(found.key, first_elements(row->key, level_));
      }
    }
    if (!skip) {
      const Reducer& now = reducer.runs_functions() ? static_cast<const Reducer&>(deferred) : reducer;
      OCTAVO_TRY(states, states_of(transaction, low, high, now));
    }
  }
  if (!skip) {
    OCTAVO_TRY(found.value, deferred.run(std::move(states)));
  }
  if (range_.descending) {
    range_.high = std::move(low);
  } else {
    range_.low = std::move(high);
  }
  return found;
}

Expected<std::vector<std::string>> ReduceScan::states_of(const storage::ReadTransaction& transaction,
                                                         std::string_view low, std::string_view high,
                                                         const Reducer& reducer) const {
  RowBatch batch;
  {
    storage::LongKeyCursor cursor(transaction, group_->trees().rows);
    auto entry = cursor.seek(low);
    for (; entry && entry->key < high && batch.size() <= direct_rows_max; entry = cursor.next()) {
      const auto row = read_row(entry->key, entry->value);
      if (!row) return damaged_row();
      batch.add(*row);
    }
  }
  std::vector<std::string> states;
  if (batch.size() <= direct_rows_max) {
    OCTAVO_TRY(auto state, reducer.reduce(batch.rows()));
    states.push_back(std::move(state));
    return states;
  }
  OCTAVO_TRY(states, SummaryReader(transaction, group_->trees(), view_, &reducer).states(low, high));
  if (states.empty()) return fail(ErrorCode::corrupted, "The summaries of a view are damaged.");
  return states;
}

}  // namespace octavo::query::views
