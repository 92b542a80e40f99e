#pragma once

#include <optional>
#include <string_view>
#include <vector>

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
      shared_.emplace(Place{.snapshot = shared, .owned = {}, .cursor = shared->documents()});
    } else {
      places_.resize(map_.place_end());
    }
  }

  /// Errors: those of the storage; corrupted.
  Expected<Found> find(std::string_view id) {
    if (shared_) return find_at(*shared_, id);
    const std::size_t number = database_.locate_document(map_, id);
    auto& place = places_[number];
    if (!place) {
      OCTAVO_TRY(auto taken, database_.snapshot(number));
      auto cursor = taken.documents();
      place.emplace(Place{.snapshot = nullptr, .owned = std::move(taken), .cursor = std::move(cursor)});
      place->snapshot = &*place->owned;
    }
    return find_at(*place, id);
  }

 private:
  struct Place {
    const storage::Snapshot* snapshot;
    std::optional<storage::Snapshot> owned;
    storage::Snapshot::DocumentCursor cursor;  ///< declared after the snapshot, so destroyed before it
  };

  static Expected<Found> find_at(Place& place, std::string_view id) {
    OCTAVO_TRY(auto document, place.cursor.find(id));
    return Found{.document = std::move(document), .snapshot = place.snapshot};
  }

  const partitioning::Database& database_;
  const partitioning::PartitionMap& map_;
  std::optional<Place> shared_;
  std::vector<std::optional<Place>> places_;
};

}  // namespace octavo::query
