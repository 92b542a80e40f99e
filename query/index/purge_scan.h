#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "storage/environment.h"

namespace octavo::query {

/// Purged documents leave no trace in the feed. So when a database's count of purges has changed, an index that follows
/// it (GlobalIndex, FeedIndex) goes through the ids that it holds, a bounded number per call, and drops those without a
/// live document. One thread at a time.
class PurgeScan {
 public:
  using IsGone = FunctionRef<Expected<bool>(std::string_view id)>;
  /// Drops what belongs to `gone` and stores `purge_count` with it, in one transaction.
  using Remove = FunctionRef<Expected<void>(std::vector<std::string> gone, std::uint64_t purge_count)>;

  /// Goes on with at most `documents_max` rows of `by_document`, whose keys are ids. `known`: the count of purges that
  /// the index has caught up with; `purge_count`: the database's before this call. True once the end was reached:
  /// `remove` was then given the count seen at the first of the calls. After an error the same rows come again.
  Expected<bool> run(storage::Environment& environment, storage::Tree by_document, std::uint64_t known,
                     std::uint64_t purge_count, std::size_t documents_max, IsGone is_gone, Remove remove);

 private:
  std::optional<std::uint64_t> count_at_start_;  ///< of the scan under way
  std::string last_;                             ///< id looked at last; empty: none
};

}  // namespace octavo::query
