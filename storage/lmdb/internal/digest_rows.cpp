#include "storage/lmdb/internal/digest_rows.h"

#include <algorithm>

#include "storage/lmdb/internal/long_key_rows.h"
#include "storage/lmdb/long_key_tree.h"

namespace octavo::storage {

void DigestRows::enter(std::string_view prefix) {
  OCTAVO_ASSERT(prefix.size() == long_key::prefix_bytes);
  prefix_.assign(prefix);
  entries_.clear();
}

std::optional<KeyValue> DigestRows::here() const {
  if (entries_.empty()) return std::nullopt;
  OCTAVO_ASSERT(position_ < entries_.size());
  return KeyValue{entries_[position_].key, entries_[position_].value};
}

std::optional<KeyValue> DigestRows::start(std::optional<std::string_view> bound, bool forward) {
  window_ = window_rows_min;
  load_window(bound, true, forward);
  return here();
}

// Loads the rows nearest to `bound` in one direction; without a bound, those at that direction's start. Reads the run
// once and keeps these rows in a heap, with the farthest on top.
void DigestRows::load_window(std::optional<std::string_view> bound, bool inclusive, bool forward) {
  OCTAVO_ASSERT(!bound || long_key::is_long(*bound));
  const auto is_nearer = [forward](const KeyValue& a, const KeyValue& b) {
    return forward ? a.key < b.key : b.key < a.key;
  };
  const std::string rest_of_bound(bound ? bound->substr(long_key::prefix_bytes) : std::string_view());
  std::vector<KeyValue> nearest;
  std::size_t bytes = 0;
  bool others_behind = false;
  bool others_beyond = false;
  const std::string run_row = long_key::run_row_key(prefix_);
  for (auto row = rows_.seek(run_row); row && row->key.starts_with(prefix_); row = rows_.next()) {
    ++rows_read_;
    if (row->key == run_row) continue;
    const auto parts = long_key::split_digest_row(row->value);
    if (!parts) continue;
    const int order = !bound ? (forward ? 1 : -1) : parts->key.compare(rest_of_bound);
    if (order == 0 ? !inclusive : forward != (order > 0)) {
      others_behind = true;
      continue;
    }
    if (nearest.size() >= window_ && !is_nearer(*parts, nearest.front())) {
      others_beyond = true;
      continue;
    }
    nearest.push_back(*parts);
    std::push_heap(nearest.begin(), nearest.end(), is_nearer);
    bytes += parts->key.size();
    while (nearest.size() > window_ || (bytes > window_bytes_max && nearest.size() > 1)) {
      std::pop_heap(nearest.begin(), nearest.end(), is_nearer);
      bytes -= nearest.back().key.size();
      nearest.pop_back();
      others_beyond = true;
    }
  }
  OCTAVO_ASSERT(nearest.size() <= window_);
  std::sort(nearest.begin(), nearest.end(), [](const KeyValue& a, const KeyValue& b) { return a.key < b.key; });
  entries_.clear();
  for (const KeyValue& entry : nearest) entries_.push_back({prefix_ + std::string(entry.key), entry.value});
  more_before_ = forward ? others_behind : others_beyond;
  more_after_ = forward ? others_beyond : others_behind;
  position_ = forward || entries_.empty() ? 0 : entries_.size() - 1;
  window_ = std::min(window_ * 2, window_rows_max);
}

std::optional<KeyValue> DigestRows::next() {
  OCTAVO_ASSERT(!entries_.empty());
  if (position_ + 1 < entries_.size()) {
    ++position_;
    return here();
  }
  if (!more_after_) return std::nullopt;
  const std::string last = std::move(entries_.back().key);
  load_window(last, false, true);
  return here();
}

std::optional<KeyValue> DigestRows::previous() {
  OCTAVO_ASSERT(!entries_.empty());
  if (position_ > 0) {
    --position_;
    return here();
  }
  if (!more_before_) return std::nullopt;
  const std::string first = std::move(entries_.front().key);
  load_window(first, false, false);
  return here();
}

}  // namespace octavo::storage
