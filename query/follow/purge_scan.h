#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// Purged documents leave no trace in the feed. When a database's purge count has changed, and the logs of purges do
/// not reach back to the checkpoint of an index that follows it (GlobalIndex, FeedIndex), the index therefore checks
/// the ids that it contains, a bounded number per call, and removes those without a live document. One thread at a
/// time.
class PurgeScan {
 public:
  using IsGone = FunctionRef<Expected<bool>(std::string_view id)>;
  /// Removes the entries of `gone` and stores `purge_count` with that, in one transaction.
  using Remove = FunctionRef<Expected<void>(std::vector<std::string> gone, std::uint64_t purge_count)>;

  /// Continues with at most `documents_max` rows of `by_document`, whose keys are ids. `known`: the purge count up to
  /// which the index was checked; `purge_count`: the database's before this call. True once all were checked: `remove`
  /// was then given the count at the first of the calls. After an error the same rows are checked again.
  Expected<bool> run(storage::Store& store, storage::Tree by_document, std::uint64_t known, std::uint64_t purge_count,
                     std::size_t documents_max, IsGone is_gone, Remove remove);
  /// The purged documents were removed in another way: the next scan begins again.
  void reset() {
    count_at_start_.reset();
    last_.clear();
  }

 private:
  std::optional<std::uint64_t> count_at_start_;  ///< of the running scan
  std::string last_;                             ///< last id checked; empty: none
};

}  // namespace octavo::query
