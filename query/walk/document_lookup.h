#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "partitioning/database.h"
#include "query/walk/index_reader.h"

namespace octavo::query {

/// Finds the documents of index entries, for one slice of a query. Consecutive entries often name documents that are
/// near each other, so a snapshot and a positioned cursor are kept for each physical partition. Must not live across a
/// suspension. One thread.
class DocumentLookup {
 public:
  struct Found {
    std::optional<storage::DocumentView> document;
    const storage::Snapshot* snapshot = nullptr;
  };

  /// Documents of a local index are read in the snapshots that `entries` reads, so that they are as their entries say;
  /// those of a global index in snapshots taken when the first document of their physical partition is looked for.
  /// `entries` must outlive the lookup.
  DocumentLookup(const partitioning::Database& database, const IndexReader& entries)
      : database_(database),
        map_(database.partition_map()),
        entries_(entries),
        partitions_(has_documents(entries) ? entries.source_count() : map_.partition_id_end()) {}

  /// The document of the last entry that `entries` returned. Errors: those of the storage; corrupted.
  Expected<Found> find(std::string_view id) {
    const storage::Snapshot* shared = entries_.documents(entries_.current_source());
    const std::size_t slot = shared ? entries_.current_source() : database_.locate_document(map_, id);
    OCTAVO_ASSERT(slot < partitions_.size());
    auto& partition = partitions_[slot];
    if (!partition) OCTAVO_TRY_VOID(open(partition, slot, shared));
    OCTAVO_TRY(auto document, partition->cursor.find(id));
    return Found{.document = std::move(document), .snapshot = partition->snapshot};
  }

 private:
  struct OpenPartition {
    const storage::Snapshot* snapshot;
    std::optional<storage::Snapshot> owned;
    storage::Snapshot::DocumentCursor cursor;  ///< declared after the snapshot, so destroyed before it
  };

  static bool has_documents(const IndexReader& entries) { return entries.source_count() > 0 && entries.documents(0); }

  Expected<void> open(std::optional<OpenPartition>& partition, std::size_t partition_id,
                      const storage::Snapshot* shared) {
    if (shared) {
      partition.emplace(OpenPartition{.snapshot = shared, .owned = {}, .cursor = shared->documents()});
      return {};
    }
    OCTAVO_TRY(auto taken, database_.snapshot(partition_id));
    auto cursor = taken.documents();
    partition.emplace(OpenPartition{.snapshot = nullptr, .owned = std::move(taken), .cursor = std::move(cursor)});
    partition->snapshot = &*partition->owned;
    return {};
  }

  const partitioning::Database& database_;
  const partitioning::PartitionMap& map_;
  const IndexReader& entries_;
  std::vector<std::optional<OpenPartition>> partitions_;  ///< by source of the entries, or by partition id
};

}  // namespace octavo::query
