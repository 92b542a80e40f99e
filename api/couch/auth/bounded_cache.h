#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace octavo::api::couch {

/// A map that keeps the `capacity` most recently used entries. Not thread-safe.
template <class Key, class Value, class Hash = std::hash<Key>, class Equal = std::equal_to<>>
class BoundedCache {
 public:
  explicit BoundedCache(std::size_t capacity) : capacity_(capacity) {}

  /// nullptr if absent. The pointer is valid until the next insert or erase. Counts as a use.
  template <class LookupKey>
  Value* find(const LookupKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return nullptr;
    entries_.splice(entries_.begin(), entries_, found->second);
    return &found->second->second;
  }

  Value& insert(Key key, Value value) {
    if (const auto found = index_.find(key); found != index_.end()) {
      entries_.splice(entries_.begin(), entries_, found->second);
      found->second->second = std::move(value);
      return found->second->second;
    }
    if (entries_.size() >= capacity_) {
      index_.erase(entries_.back().first);
      entries_.pop_back();
    }
    entries_.emplace_front(std::move(key), std::move(value));
    index_.emplace(entries_.front().first, entries_.begin());
    return entries_.front().second;
  }

  template <class LookupKey>
  void erase(const LookupKey& key) {
    const auto found = index_.find(key);
    if (found == index_.end()) return;
    entries_.erase(found->second);
    index_.erase(found);
  }

  std::size_t size() const { return entries_.size(); }

 private:
  using Entries = std::list<std::pair<Key, Value>>;
  std::size_t capacity_;
  Entries entries_;
  std::unordered_map<Key, typename Entries::iterator, Hash, Equal> index_;
};

/// Allows lookups by std::string_view in a BoundedCache with keys of type std::string.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
};

}  // namespace octavo::api::couch
