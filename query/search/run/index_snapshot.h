#pragma once

#include <atomic>
#include <lucene++/IndexReader.h>
#include <lucene++/IndexSearcher.h>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <string>
#include <vector>

#include "storage/document/document.h"

namespace octavo::query::search {

/// The documents of an index at one point in time. Shared by searches. Immutable except for `complete_through`, which
/// advances while the feed brings no change to the index.
struct IndexSnapshot {
  struct Segment {
    Lucene::IndexReaderPtr reader;
    int32_t base = 0;  ///< number of its first document
  };
  Lucene::IndexReaderPtr reader;
  Lucene::IndexSearcherPtr searcher;
  std::vector<Segment> segments;
  /// No entry is older than the state at this sequence. In the middle of a batch the checkpoint is ahead of it, because
  /// a document may have changed since and be at the end of the batch.
  mutable std::atomic<storage::Sequence> complete_through{0};

  explicit IndexSnapshot(Lucene::IndexReaderPtr opened, storage::Sequence up_to);
  ~IndexSnapshot();
  IndexSnapshot(const IndexSnapshot&) = delete;
  IndexSnapshot& operator=(const IndexSnapshot&) = delete;

  const Segment& segment_of(int32_t document) const;
  /// The bytes of a stored document. May throw.
  std::string stored(int32_t document) const;
};

using IndexSnapshotPtr = std::shared_ptr<const IndexSnapshot>;

}  // namespace octavo::query::search
