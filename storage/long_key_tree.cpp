#include "storage/long_key_tree.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include <openssl/evp.h>

namespace octavo::storage {
namespace {

constexpr std::size_t kDigestBytes = 16;
constexpr std::size_t kLongRowKeyBytes = long_key::kPrefixBytes + kDigestBytes;

bool is_long(std::string_view key) {
  return key.size() > long_key::kPrefixBytes;
}

std::array<char, kLongRowKeyBytes> row_key(std::string_view key) {
  std::array<char, kLongRowKeyBytes> row;
  std::memcpy(row.data(), key.data(), long_key::kPrefixBytes);
  std::array<unsigned char, 32> digest;
  unsigned int digest_size = 0;
  EVP_Digest(key.data(), key.size(), digest.data(), &digest_size, EVP_sha256(), nullptr);
  std::memcpy(row.data() + long_key::kPrefixBytes, digest.data(), kDigestBytes);
  return row;
}

std::string_view view(const std::array<char, kLongRowKeyBytes>& row) {
  return {row.data(), row.size()};
}

/// Splits a long key's row value into the rest of the key and the value.
std::optional<KeyValue> split_row(std::string_view stored) {
  std::uint32_t key_size = 0;
  if (stored.size() < sizeof(key_size)) return std::nullopt;
  std::memcpy(&key_size, stored.data(), sizeof(key_size));
  if (key_size <= long_key::kPrefixBytes) return std::nullopt;
  const std::size_t rest = key_size - long_key::kPrefixBytes;
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
  if (row->key != key.substr(kPrefixBytes)) return std::nullopt;
  return row->value;
}

Expected<void> put(WriteTransaction& transaction, Tree tree, std::string_view key, std::string_view value) {
  if (!is_long(key)) return transaction.put(tree, key, value);
  const auto key_size = static_cast<std::uint32_t>(key.size());
  std::string stored(sizeof(key_size), '\0');
  std::memcpy(stored.data(), &key_size, sizeof(key_size));
  stored.append(key.substr(kPrefixBytes));
  stored.append(value);
  return transaction.put(tree, view(row_key(key)), stored);
}

Expected<bool> erase(WriteTransaction& transaction, Tree tree, std::string_view key) {
  return is_long(key) ? transaction.erase(tree, view(row_key(key))) : transaction.erase(tree, key);
}

}  // namespace long_key

void LongKeyCursor::load_run(std::string_view prefix) {
  run_.clear();
  std::string run_prefix(prefix.substr(0, long_key::kPrefixBytes));
  // The short key that equals the prefix comes first; the run is what follows it.
  std::string first_possible = run_prefix + std::string(1, '\0');
  for (auto row = cursor_.seek(first_possible); row && row->key.starts_with(run_prefix) && is_long(row->key);
       row = cursor_.next()) {
    if (const auto parts = split_row(row->value)) {
      run_.push_back({run_prefix + std::string(parts->key), parts->value});
    }
  }
  std::sort(run_.begin(), run_.end(), [](const LongEntry& a, const LongEntry& b) { return a.key < b.key; });
}

std::optional<KeyValue> LongKeyCursor::arrive_forward(std::optional<KeyValue> row) {
  run_.clear();
  if (!row || !is_long(row->key)) return row;
  load_run(row->key);
  run_position_ = 0;
  if (run_.empty()) return std::nullopt;
  return at_run();
}

std::optional<KeyValue> LongKeyCursor::arrive_backward(std::optional<KeyValue> row) {
  run_.clear();
  if (!row || !is_long(row->key)) return row;
  load_run(row->key);
  if (run_.empty()) return std::nullopt;
  run_position_ = run_.size() - 1;
  return at_run();
}

std::optional<KeyValue> LongKeyCursor::seek(std::string_view key) {
  if (!is_long(key)) return arrive_forward(cursor_.seek(key));
  load_run(key);
  const auto found =
      std::lower_bound(run_.begin(), run_.end(), key,
                       [](const LongEntry& entry, std::string_view wanted) { return entry.key < wanted; });
  run_position_ = static_cast<std::size_t>(found - run_.begin());
  if (found != run_.end()) return at_run();
  // Past the run: the first row whose prefix is greater.
  std::string after(key.substr(0, long_key::kPrefixBytes));
  after.append(kDigestBytes + 1, '\xFF');
  return arrive_forward(cursor_.seek(after));
}

std::optional<KeyValue> LongKeyCursor::seek_back(std::string_view key) {
  if (!is_long(key)) {
    // A short key may stand just behind a run (rows of a run are never equal to a short key).
    return arrive_backward(cursor_.seek_back(key));
  }
  load_run(key);
  const auto found =
      std::upper_bound(run_.begin(), run_.end(), key,
                       [](std::string_view wanted, const LongEntry& entry) { return wanted < entry.key; });
  if (found != run_.begin()) {
    run_position_ = static_cast<std::size_t>(found - run_.begin()) - 1;
    return at_run();
  }
  return arrive_backward(cursor_.seek_back(key.substr(0, long_key::kPrefixBytes)));
}

std::optional<KeyValue> LongKeyCursor::last() {
  return arrive_backward(cursor_.last());
}

std::optional<KeyValue> LongKeyCursor::next() {
  if (run_.empty()) return arrive_forward(cursor_.next());
  if (run_position_ + 1 < run_.size()) {
    ++run_position_;
    return at_run();
  }
  std::string after = run_.back().key.substr(0, long_key::kPrefixBytes);
  after.append(kDigestBytes + 1, '\xFF');
  return arrive_forward(cursor_.seek(after));
}

std::optional<KeyValue> LongKeyCursor::previous() {
  if (run_.empty()) return arrive_backward(cursor_.previous());
  if (run_position_ > 0) {
    --run_position_;
    return at_run();
  }
  return arrive_backward(cursor_.seek_back(run_.front().key.substr(0, long_key::kPrefixBytes)));
}

}  // namespace octavo::storage
