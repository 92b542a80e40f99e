#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <utility>

namespace octavo::query::search {

/// A map that keeps the most recently used values, up to a number of bytes. Not thread-safe.
template <class Key, class Value>
class ByteBoundedCache {
 public:
  explicit ByteBoundedCache(std::size_t bytes_max) : bytes_max_(bytes_max) {}

  /// nullptr if absent. The pointer is valid until the next change. Counts as a use.
  const Value* find(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return nullptr;
    by_use_.splice(by_use_.begin(), by_use_, found->second.use);
    return &found->second.value;
  }

  /// Keeps the value that the key already has, and does not keep one of more than half the limit. Throws
  /// std::bad_alloc and changes nothing then.
  void insert(const Key& key, Value value, std::size_t bytes) {
    if (bytes > bytes_max_ / 2 || entries_.contains(key)) return;
    // Everything is allocated before the first change: each entry must be in both containers.
    std::list<Key> use;
    use.push_back(key);
    entries_.emplace(key, Entry{std::move(value), bytes, use.begin()});
    by_use_.splice(by_use_.begin(), use);
    bytes_ += bytes;
    while (bytes_ > bytes_max_) erase(by_use_.back());
  }

  void erase(const Key& key) {
    const auto found = entries_.find(key);
    if (found == entries_.end()) return;
    bytes_ -= found->second.bytes;
    by_use_.erase(found->second.use);  // `key` may be this one
    entries_.erase(found);
  }

  void clear() {
    entries_.clear();
    by_use_.clear();
    bytes_ = 0;
  }

 private:
  struct Entry {
    Value value;
    std::size_t bytes;
    typename std::list<Key>::iterator use;
  };

  const std::size_t bytes_max_;
  std::map<Key, Entry> entries_;
  std::list<Key> by_use_;  ///< most recently used first
  std::size_t bytes_ = 0;
};

}  // namespace octavo::query::search
