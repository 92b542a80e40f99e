#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "partitioning/database.h"

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

  /// `shared`: the snapshot that the entries were read from, when the documents are in the same physical partition; it
  /// must outlive the lookup. Null: takes a snapshot of each physical partition when it first has a document of it to
  /// find.
  DocumentLookup(const partitioning::Database& database, const storage::Snapshot* shared)
      : database_(database), map_(database.partition_map()) {
    if (shared) {
      shared_.emplace(OpenPartition{.snapshot = shared, .owned = {}, .cursor = shared->documents()});
    } else {
      partitions_.resize(map_.partition_id_end());
    }
  }

  /// Errors: those of the storage; corrupted.
  Expected<Found> find(std::string_view id) {
    if (shared_) return find_at(*shared_, id);
    const std::size_t partition_id = database_.locate_document(map_, id);
    OCTAVO_ASSERT(partition_id < partitions_.size());
    auto& partition = partitions_[partition_id];
    if (!partition) {
      OCTAVO_TRY(auto taken, database_.snapshot(partition_id));
      auto cursor = taken.documents();
      partition.emplace(OpenPartition{.snapshot = nullptr, .owned = std::move(taken), .cursor = std::move(cursor)});
      partition->snapshot = &*partition->owned;
    }
    return find_at(*partition, id);
  }

 private:
  struct OpenPartition {
    const storage::Snapshot* snapshot;
    std::optional<storage::Snapshot> owned;
    storage::Snapshot::DocumentCursor cursor;  ///< declared after the snapshot, so destroyed before it
  };

  static Expected<Found> find_at(OpenPartition& partition, std::string_view id) {
    OCTAVO_TRY(auto document, partition.cursor.find(id));
    return Found{.document = std::move(document), .snapshot = partition.snapshot};
  }

  const partitioning::Database& database_;
  const partitioning::PartitionMap& map_;
  std::optional<OpenPartition> shared_;
  std::vector<std::optional<OpenPartition>> partitions_;
};

}  // namespace octavo::query
