#pragma once

#include <span>

#include "query/follow/feed_index.h"

namespace octavo::tests {

/// Gives an index all of these documents, as many at a time as it takes; after them it has the feed up to `reached`.
inline Expected<void> apply_all(query::FeedIndex& index, std::span<const query::FeedDocument> documents,
                                storage::Sequence reached, bool complete = true) {
  while (true) {
    const query::FeedChanges changes{documents, index.checkpoint(), reached, complete, false};
    OCTAVO_TRY(const std::size_t count, index.apply(changes));
    if (count == documents.size()) return {};
    if (count == 0) return fail(ErrorCode::internal, "The index takes no document.");
    documents = documents.subspan(count);
  }
}

}  // namespace octavo::tests
