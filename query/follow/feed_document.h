#pragma once

#include "query/follow/feed_index.h"
#include "storage/partition/snapshot.h"

namespace octavo::query {

/// A document found in `snapshot`, as given to an index that follows the feed: with `_id`, `_rev` and, as CouchDB gives
/// them to map functions, `_conflicts` and `_deleted_conflicts`. Error: corrupted.
Expected<FeedDocument> read_feed_document(const storage::DocumentView& found, const storage::Snapshot& snapshot,
                                          bool database_is_partitioned);

/// The same with the stored body.
FeedDocument read_feed_body(const storage::DocumentView& found, bool database_is_partitioned);
/// The same without a body.
FeedDocument read_feed_head(const storage::DocumentHead& found, bool database_is_partitioned);

}  // namespace octavo::query
