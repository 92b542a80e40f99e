#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"
#include "query/follow/feed_index.h"

/// How followers read a database's feed.
namespace octavo::query {

/// How far a batch of the feed got.
struct FeedBatch {
  storage::Sequence reached = 0;          ///< everything up to this sequence has been shown
  bool complete = false;                  ///< after this batch no entry is older than `reached`
  bool more = false;                      ///< the scan was cut short: there is more to read now
  storage::Sequence dropped_through = 0;  ///< tombstones up to here may be missing in what was shown
};

/// Shows the documents that changed after `from`, and those that are being written meanwhile: these have left their
/// position in the feed, and an index must not keep the entry of an earlier state. `show` gets an id and a snapshot
/// that contains its newest state, possibly twice for one document; false ends the batch. `watermark` must have been
/// read before the purge count: the batch claims nothing beyond it, as the scan may see further than that count does.
/// At most `rows_max` rows of the feed. One slice: holds snapshots for its duration.
Expected<FeedBatch> read_feed_batch(partitioning::Database& database, storage::Sequence from,
                                    storage::Sequence watermark, std::size_t rows_max,
                                    FunctionRef<Expected<bool>(std::string_view id, const storage::Snapshot&)> show);

/// The sequence after which a batch for an index at `checkpoint` begins; nullopt: the index has everything.
std::optional<storage::Sequence> begin_of_batch(storage::Sequence checkpoint, bool complete,
                                                storage::Sequence watermark);

/// Lets `consumer` remove documents whose deletion the feed does not show, some at a time; true: all are removed.
/// `watermark`: that of the database, read before `hidden`.
Expected<bool> catch_up_with_deletions(partitioning::Database& database, FeedConsumer& consumer,
                                       const partitioning::HiddenDeletions& hidden, storage::Sequence watermark);

}  // namespace octavo::query
