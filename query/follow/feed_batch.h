#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

/// Functions shared by all indexes that follow a database's feed.
namespace octavo::query {

/// How far a batch of the feed got.
struct FeedBatch {
  storage::Sequence reached = 0;  ///< everything up to this sequence has been shown
  bool complete = false;          ///< after this batch no entry is older than `reached`
  bool more = false;              ///< the scan was cut short: there is more to read now
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

/// Lets `index`, a GlobalIndex or FeedIndex, remove purged documents, some at a time; true: all are removed.
template <class Index>
Expected<bool> catch_up_with_purges(partitioning::Database& database, Index& index, std::uint64_t purge_count) {
  constexpr std::size_t kDocumentsMax = 8192;
  // One map for all: a split meanwhile changes where documents are, but not which exist.
  const partitioning::PartitionMap& map = database.partition_map();
  std::map<std::size_t, storage::Snapshot> snapshots;
  for (const std::size_t partition_id : map.partition_ids()) {
    OCTAVO_TRY(auto snapshot, database.snapshot(partition_id));
    snapshots.emplace(partition_id, std::move(snapshot));
  }
  OCTAVO_TRY_VOID(database.make_durable());
  return index.remove_purged(purge_count, kDocumentsMax, [&](std::string_view id) -> Expected<bool> {
    OCTAVO_TRY(const auto document, snapshots.at(database.locate_document(map, id)).find_stored(id));
    return !document || document->deleted;
  });
}

}  // namespace octavo::query
