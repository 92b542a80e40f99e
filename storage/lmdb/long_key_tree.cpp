#include "storage/lmdb/long_key_tree.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/assert.h"
#include "base/digest.h"

namespace octavo::storage {
namespace {

constexpr std::size_t digest_bytes = 16;
constexpr std::size_t long_row_key_bytes = long_key::prefix_bytes + digest_bytes;

bool is_long(std::string_view key) {
  return key.size() > long_key::prefix_bytes;
}

std::array<char, long_row_key_bytes> row_key(std::string_view key) {
  OCTAVO_ASSERT(is_long(key));
  std::array<char, long_row_key_bytes> row;
  std::memcpy(row.data(), key.data(), long_key::prefix_bytes);
  const auto digest = crypto::sha256(key);
  std::memcpy(row.data() + long_key::prefix_bytes, digest.data(), digest_bytes);
  return row;
}

std::string_view view(const std::array<char, long_row_key_bytes>& row) {
  return {row.data(), row.size()};
}

/// Splits a long key's row value into the rest of the key and the value.
std::optional<KeyValue> split_row(std::string_view stored) {
  std::uint32_t key_size = 0;
  if (stored.size() < sizeof(key_size)) return std::nullopt;
  std::memcpy(&key_size, stored.data(), sizeof(key_size));
  if (key_size <= long_key::prefix_bytes) return std::nullopt;
  const std::size_t rest = key_size - long_key::prefix_bytes;
  if (stored.size() < sizeof(key_size) + rest) return std::nullopt;
  return KeyValue{stored.substr(sizeof(key_size), rest), stored.substr(sizeof(key_size) + rest)};
}

}  // namespace

namespace long_key {

Expected<std::optional<std::string_view>> get(const Transaction& transaction, Tree tree, std::string_view key) {
  if (!is_long(key)) return transaction.get(tree, key);
  OCTAVO_TRY(const auto stored, transaction.get(tree, view(row_key(key))));
  if (!stored) return std::nullopt;
  const auto row = split_row(*stored);
  if (!row) return fail(ErrorCode::corrupted, "A row with a long key is damaged.");
  // Another key with the same prefix and digest would need a SHA-256 collision on 128 bits: treated as absent.
  if (row->key != key.substr(prefix_bytes)) return std::nullopt;
  return row->value;
}

Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value) {
  return put_over(transaction, tree, key, value, 0);
}

Expected<void> put_over(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value,
                        std::size_t old_value_bytes) {
  if (!is_long(key)) return transaction.put_over(tree, key, value, old_value_bytes);
  const auto key_size = static_cast<std::uint32_t>(key.size());
  std::string stored(sizeof(key_size), '\0');
  std::memcpy(stored.data(), &key_size, sizeof(key_size));
  stored.append(key.substr(prefix_bytes));
  const std::size_t old_stored_bytes = stored.size() + old_value_bytes;
  stored.append(value);
  return transaction.put_over(tree, view(row_key(key)), stored, old_stored_bytes);
}

Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key) {
  return is_long(key) ? transaction.erase(tree, view(row_key(key))) : transaction.erase(tree, key);
}

}  // namespace long_key

Expected<void> LongKeyWriter::put(std::string_view key, std::string_view value,
                                  std::optional<std::size_t> old_value_bytes) {
  if (old_value_bytes) return long_key::put_over(transaction_, tree_, key, value, *old_value_bytes);
  if (is_long(key)) {
    last_.reset();
    return long_key::put(transaction_, tree_, key, value);
  }
  if (!last_) {
    Cursor cursor(transaction_, tree_);
    const auto row = cursor.last();
    last_.emplace(row ? row->key : std::string_view());
  }
  if (key <= *last_) return transaction_.put(tree_, key, value);
  last_->assign(key);
  return transaction_.append(tree_, key, value);
}

// Reads the run once and keeps the rows nearest to the bound in a heap, with the farthest on top.
void LongKeyCursor::load_window(std::string_view prefix, std::optional<std::string_view> bound, bool inclusive,
                                bool forward) {
  OCTAVO_ASSERT(is_long(prefix));
  OCTAVO_ASSERT(!bound || is_long(*bound));
  const auto is_nearer = [forward](const KeyValue& a, const KeyValue& b) {
    return forward ? a.key < b.key : b.key < a.key;
  };
  std::string run_prefix(prefix.substr(0, long_key::prefix_bytes));
  const std::string rest_of_bound(bound ? bound->substr(long_key::prefix_bytes) : std::string_view());
  std::vector<KeyValue> nearest;
  std::size_t bytes = 0;
  bool others_behind = false;
  bool others_beyond = false;
  // The short key that equals the prefix comes first, followed by the run.
  const std::string first_possible = run_prefix + std::string(1, '\0');
  for (auto row = cursor_.seek(first_possible); row && row->key.starts_with(run_prefix) && is_long(row->key);
       row = cursor_.next()) {
    const auto parts = split_row(row->value);
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
  run_.clear();
  for (const KeyValue& entry : nearest) run_.push_back({run_prefix + std::string(entry.key), entry.value});
  more_before_ = forward ? others_behind : others_beyond;
  more_after_ = forward ? others_beyond : others_behind;
  run_position_ = forward || run_.empty() ? 0 : run_.size() - 1;
  window_ = std::min(window_ * 2, window_rows_max);
}

std::optional<KeyValue> LongKeyCursor::arrive_forward(std::optional<KeyValue> row) {
  run_.clear();
  if (!row || !is_long(row->key)) return row;
  load_window(row->key, std::nullopt, true, true);
  if (run_.empty()) return std::nullopt;
  return at_run();
}

std::optional<KeyValue> LongKeyCursor::arrive_backward(std::optional<KeyValue> row) {
  run_.clear();
  if (!row || !is_long(row->key)) return row;
  load_window(row->key, std::nullopt, true, false);
  if (run_.empty()) return std::nullopt;
  return at_run();
}

std::optional<KeyValue> LongKeyCursor::leave_forward(std::string_view prefix) {
  OCTAVO_ASSERT(is_long(prefix));
  // Seeks the first row whose prefix is greater.
  std::string after(prefix.substr(0, long_key::prefix_bytes));
  after.append(digest_bytes + 1, '\xFF');
  return arrive_forward(cursor_.seek(after));
}

std::optional<KeyValue> LongKeyCursor::leave_backward(std::string_view prefix) {
  OCTAVO_ASSERT(is_long(prefix));
  const std::string before(prefix.substr(0, long_key::prefix_bytes));
  return arrive_backward(cursor_.seek_back(before));
}

std::optional<KeyValue> LongKeyCursor::seek(std::string_view key) {
  window_ = window_rows_min;
  if (!is_long(key)) return arrive_forward(cursor_.seek(key));
  load_window(key, key, true, true);
  return run_.empty() ? leave_forward(key) : at_run();
}

std::optional<KeyValue> LongKeyCursor::seek_back(std::string_view key) {
  window_ = window_rows_min;
  // A short key may follow a run directly (rows of a run are never equal to a short key).
  if (!is_long(key)) return arrive_backward(cursor_.seek_back(key));
  load_window(key, key, true, false);
  return run_.empty() ? leave_backward(key) : at_run();
}

std::optional<KeyValue> LongKeyCursor::last() {
  window_ = window_rows_min;
  return arrive_backward(cursor_.last());
}

std::optional<KeyValue> LongKeyCursor::next() {
  if (run_.empty()) return arrive_forward(cursor_.next());
  if (run_position_ + 1 < run_.size()) {
    ++run_position_;
    return at_run();
  }
  const std::string here = std::move(run_.back().key);
  if (more_after_) {
    load_window(here, here, false, true);
    if (!run_.empty()) return at_run();
  }
  return leave_forward(here);
}

std::optional<KeyValue> LongKeyCursor::previous() {
  if (run_.empty()) return arrive_backward(cursor_.previous());
  if (run_position_ > 0) {
    --run_position_;
    return at_run();
  }
  const std::string here = std::move(run_.front().key);
  if (more_before_) {
    load_window(here, here, false, false);
    if (!run_.empty()) return at_run();
  }
  return leave_backward(here);
}

}  // namespace octavo::storage
