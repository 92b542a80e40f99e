#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "query/follow/feed_index.h"
#include "storage/lmdb/store.h"

namespace octavo::query {

/// Purged documents leave no trace in the feed. When a database's purge count has changed, and the logs of purges do
/// not reach back to the checkpoint of an index that follows it (GlobalIndex, FeedIndex), the index therefore checks
/// the ids that it contains, a bounded number per call, and removes those without a live document. So does an index
/// that has not read the feed up to a tombstone that was dropped. One thread at a time.
class PurgeScan {
 public:
  /// Removes the entries of `gone` and stores `purge_count` with that, in one transaction.
  using Remove = FunctionRef<Expected<void>(std::vector<std::string> gone, std::uint64_t purge_count)>;

  /// At most `count_max` ids of documents that the index contains, those after `after`, in their order.
  using NextIds = FunctionRef<Expected<std::vector<std::string>>(std::string_view after, std::size_t count_max)>;

  /// Continues with at most `documents_max` documents. `known`: the purge count up to which the index was checked. True
  /// once all were checked: `remove` was then given the count at the first of the calls. After an error the same
  /// documents are checked again.
  Expected<bool> run(NextIds next_ids, std::uint64_t known, const GoneDocuments& gone, std::size_t documents_max,
                     Remove remove);
  /// The same for the ids that are the keys of `by_document`.
  Expected<bool> run(storage::Store& store, storage::Tree by_document, std::uint64_t known, const GoneDocuments& gone,
                     std::size_t documents_max, Remove remove);
  /// The purged documents were removed in another way: the next scan begins again.
  void reset() {
    start_.reset();
    last_.clear();
  }
  /// The watermark at which the last complete scan began: no entry is of a document that was deleted by then. 0: there
  /// was no scan since the index was opened.
  storage::Sequence scanned_through() const { return scanned_through_; }

 private:
  struct Start {
    std::uint64_t purge_count = 0;
    storage::Sequence watermark = 0;
  };
  std::optional<Start> start_;  ///< of the running scan
  std::string last_;            ///< last id checked; empty: none
  storage::Sequence scanned_through_ = 0;
};

}  // namespace octavo::query
