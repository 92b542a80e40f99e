#pragma once

#include <atomic>
#include <lucene++/IndexReader.h>
#include <lucene++/IndexSearcher.h>
#include <lucene++/LuceneHeaders.h>
#include <memory>
#include <string>
#include <vector>

#include "storage/document.h"

namespace octavo::query::search {

/// The documents of an index at one moment. Shared by the searches that began then; immutable, but for how far it is
/// complete, which grows while the feed brings nothing for the index.
struct IndexSnapshot {
  struct Segment {
    Lucene::IndexReaderPtr reader;
    int32_t base = 0;  ///< number of its first document
  };
  Lucene::IndexReaderPtr reader;
  Lucene::IndexSearcherPtr searcher;
  std::vector<Segment> segments;
  /// No entry is of an older state. In the middle of a batch the checkpoint is further than that: a document may have
  /// changed since, and stand at the end of the batch.
  mutable std::atomic<storage::Sequence> complete_through{0};

  explicit IndexSnapshot(Lucene::IndexReaderPtr opened, storage::Sequence up_to);
  ~IndexSnapshot();
  IndexSnapshot(const IndexSnapshot&) = delete;
  IndexSnapshot& operator=(const IndexSnapshot&) = delete;

  const Segment& segment_of(int32_t document) const;
  /// Bytes of a stored document; a reader keeps them until its next call on this thread. Throws.
  std::string stored(int32_t document) const;
};

using IndexSnapshotPtr = std::shared_ptr<const IndexSnapshot>;

}  // namespace octavo::query::search
