#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>

#include "base/assert.h"

namespace octavo {

/// The keys with the greatest sums of weights, in bounded memory: the space-saving algorithm (Metwally, Agrawal, El
/// Abbadi 2005). No sum is too low; none is too high by more than the total divided by `capacity`. Every key whose sum
/// is above that is found. `Note` is what the caller keeps with a key; it starts again when the key is replaced.
///
/// Among many keys of about equal sums none is certain: their errors are as large as the sums. Callers count exactly
/// while there are few keys, and look at `error_max`.
///
/// add() compares hashes: O(capacity) for a key that is kept, and mostly O(1) for one that is not. Not thread-safe.
template <class Note, std::size_t capacity>
class SpaceSaving {
 public:
  struct Entry {
    std::string key;
    double weight = 0;
    double error_max = 0;  ///< at most this part of `weight` belongs to other keys
    Note note{};
  };

  /// `hash`: of `key`, always by the same function. Throws std::bad_alloc.
  Entry& add(std::string_view key, std::uint64_t hash, double weight) {
    if (filter_of(hash) != 0) {
      for (std::size_t i = 0; i < size_; ++i) {
        if (hashes_[i] == hash && entries_[i].key == key) {
          entries_[i].weight += weight;
          return entries_[i];
        }
      }
    }
    const bool is_full = size_ == capacity;
    const std::size_t at = is_full ? least() : size_;
    Entry& entry = entries_[at];
    entry.key.assign(key);  // first, as it may throw
    if (is_full) {
      // The new key may have all of the weight of the one that it replaces.
      --filter_of(hashes_[at]);
      entry.error_max = entry.weight;
      entry.weight += weight;
    } else {
      ++size_;
      entry.error_max = 0;
      entry.weight = weight;
    }
    entry.note = Note{};
    hashes_[at] = hash;
    ++filter_of(hash);
    return entry;
  }

  /// In no order.
  std::span<const Entry> entries() const { return std::span(entries_).first(size_); }

  /// Keeps the memory of the keys.
  void clear() {
    size_ = 0;
    floor_ = 0;
    cursor_ = 0;
    filter_.fill(0);
  }

 private:
  std::uint16_t& filter_of(std::uint64_t hash) { return filter_[hash % filter_.size()]; }

  std::size_t least() {
    // No sum shrinks, so none is below the last least one: the search ends at the first that equals it.
    std::size_t found = cursor_;
    double weight = std::numeric_limits<double>::infinity();
    for (std::size_t n = 0, at = cursor_; n < size_; ++n, at = at + 1 == size_ ? 0 : at + 1) {
      if (entries_[at].weight >= weight) continue;
      found = at;
      weight = entries_[at].weight;
      if (weight <= floor_) break;
    }
    OCTAVO_ASSERT(found < size_);
    floor_ = weight;
    cursor_ = found;
    return found;
  }

  static_assert(capacity > 0 && capacity < UINT16_MAX);

  std::size_t size_ = 0;
  double floor_ = 0;        ///< no sum is lower
  std::size_t cursor_ = 0;  ///< where the last least sum was
  std::array<std::uint64_t, capacity> hashes_{};
  std::array<std::uint16_t, 8 * capacity> filter_{};  ///< number of keys by hash: most keys that are not kept have 0
  std::array<Entry, capacity> entries_{};
};

}  // namespace octavo
