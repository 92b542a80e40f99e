#include "query/follow/feed_batch.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/assert.h"

namespace octavo::query {

Expected<FeedBatch> read_feed_batch(partitioning::Database& database, storage::Sequence from,
                                    storage::Sequence watermark, std::size_t rows_max,
                                    FunctionRef<Expected<bool>(std::string_view id, const storage::Snapshot&)> show) {
  OCTAVO_ASSERT(from < watermark && rows_max > 0);
  std::optional<Error> failure;
  partitioning::FeedScan scan(database, {from, false, std::nullopt, true});
  const auto visit = [&](const storage::FeedRow& row, const storage::Snapshot& snapshot) {
    const auto shown = show(row.id, snapshot);
    if (shown) return *shown ? partitioning::Visit::next : partitioning::Visit::pause;
    failure = shown.error();
    return partitioning::Visit::stop;
  };
  OCTAVO_TRY(const auto state, scan.run({rows_max}, visit));
  if (failure) return std::unexpected(*std::move(failure));
  storage::Sequence dropped_through = scan.dropped_through();
  for (const auto& id : scan.beyond()) {
    OCTAVO_TRY(const auto snapshot, database.snapshot_for_document(id));
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    dropped_through = std::max(dropped_through, counters.dropped_through);
    OCTAVO_TRY_VOID(show(id, snapshot));
  }
  OCTAVO_ASSERT(scan.position() >= from);
  const bool done = state == partitioning::ScanState::done;
  return FeedBatch{.reached = std::min(scan.position(), watermark),
                   .complete = done && scan.beyond().size() < scan.beyond_max,
                   .more = !done,
                   .dropped_through = dropped_through};
}

std::optional<storage::Sequence> begin_of_batch(storage::Sequence checkpoint, bool complete,
                                                storage::Sequence watermark) {
  if (checkpoint < watermark) return checkpoint;
  if (watermark == 0 || complete) return std::nullopt;
  return watermark - 1;  // only for documents whose rows are beyond the watermark
}

Expected<bool> catch_up_with_deletions(partitioning::Database& database, FeedConsumer& consumer,
                                       const partitioning::HiddenDeletions& hidden, storage::Sequence watermark) {
  constexpr std::size_t documents_max = 8192;
  // The purges up to the checkpoint are in the consumer's purge count: the watermark is read before the count.
  KnownPurges purges{.gone = {}, .since = consumer.checkpoint(), .purge_count = hidden.purge_count};
  // One map for all: a split meanwhile changes where documents are, but not which exist.
  const partitioning::PartitionMap& map = database.partition_map();
  std::map<std::size_t, storage::Snapshot> snapshots;
  for (const std::size_t partition_id : map.partition_ids()) {
    OCTAVO_TRY(auto snapshot, database.snapshot(partition_id));
    snapshots.emplace(partition_id, std::move(snapshot));
  }
  OCTAVO_TRY_VOID(database.make_durable());
  const auto is_gone = [&](std::string_view id) -> Expected<bool> {
    OCTAVO_TRY(const auto document, snapshots.at(database.locate_document(map, id)).find_stored_record(id));
    return !document || document->deleted;
  };
  // The ids of dropped tombstones are not known.
  bool all_known = consumer.knows_deletions_through() >= hidden.dropped_through;
  for (const auto& [partition_id, snapshot] : snapshots) {
    if (!all_known) break;
    OCTAVO_TRY(auto purged, snapshot.purged_after(purges.since));
    all_known = purged.has_value();
    if (!all_known) break;
    for (std::string& id : *purged) {
      OCTAVO_TRY(const bool gone, is_gone(id));
      if (gone) purges.gone.push_back(std::move(id));
    }
  }
  if (all_known) {
    OCTAVO_TRY(const bool removed, consumer.remove_known(purges));
    if (removed) return true;
  }
  return consumer.remove_purged({.purge_count = hidden.purge_count,
                                 .dropped_through = hidden.dropped_through,
                                 .watermark = watermark,
                                 .is_gone = is_gone},
                                documents_max);
}

}  // namespace octavo::query
