#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace octavo::storage {

/// Ids of documents whose changes do not appear in the feed: local documents, purged ones, and those whose tombstones
/// were dropped. Collected while the partition is being copied. Thread-safe.
class UnfedChanges {
 public:
  void add_document(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ids_.documents.emplace(id);
  }
  void add_local_document(std::string_view id) {
    const std::lock_guard lock(mutex_);
    ids_.local_documents.emplace(id);
  }
  struct Ids {
    std::set<std::string, std::less<>> documents;
    std::set<std::string, std::less<>> local_documents;
  };
  /// Ids added since the last call.
  Ids take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(ids_, {});
  }

 private:
  std::mutex mutex_;
  Ids ids_;
};

}  // namespace octavo::storage
