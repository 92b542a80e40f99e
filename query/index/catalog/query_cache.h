#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/thread_ordinal.h"

namespace octavo::query {

/// Base of the queries that a higher layer stores in a database's cache.
class CachedQuery {
 public:
  virtual ~CachedQuery() = default;
};

/// Parsed and planned queries of one database, by their text. Each thread uses its own part, so threads do not wait for
/// each other. Entries expire with the catalog generation and by age; the size is bounded.
class QueryCache {
 public:
  static constexpr std::size_t text_bytes_max = 4096;
  static constexpr std::size_t entries_per_thread_max = 256;
  /// Plans depend on counts of rows, which change.
  static constexpr std::chrono::seconds age_max{2};

  std::shared_ptr<const CachedQuery> find(std::string_view text, std::uint64_t generation) {
    Part& part = own_part();
    const std::lock_guard lock(part.mutex);
    const auto found = part.entries.find(text);
    if (found == part.entries.end()) return nullptr;
    if (found->second.generation != generation || found->second.expires < std::chrono::steady_clock::now()) {
      part.entries.erase(found);
      return nullptr;
    }
    return found->second.query;
  }

  void store(std::string_view text, std::uint64_t generation, std::shared_ptr<const CachedQuery> query) {
    if (text.size() > text_bytes_max) return;
    Part& part = own_part();
    const std::lock_guard lock(part.mutex);
    if (part.entries.size() >= entries_per_thread_max) part.entries.clear();
    part.entries.insert_or_assign(std::string(text),
                                  Entry{std::move(query), generation, std::chrono::steady_clock::now() + age_max});
  }

  void clear() {
    for (Part& part : parts_) {
      const std::lock_guard lock(part.mutex);
      part.entries.clear();
    }
  }

 private:
  struct Entry {
    std::shared_ptr<const CachedQuery> query;
    std::uint64_t generation;
    std::chrono::steady_clock::time_point expires;
  };
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct alignas(64) Part {
    std::mutex mutex;
    std::unordered_map<std::string, Entry, TextHash, std::equal_to<>> entries;
  };
  Part& own_part() { return parts_[thread_ordinal() % parts_.size()]; }

  std::array<Part, 16> parts_;
};

}  // namespace octavo::query
