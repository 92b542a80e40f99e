#include "query/search/run/index_snapshot.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <lucene++/Document.h>

#include "query/search/lucene/lucene_text.h"

namespace octavo::query::search {

IndexSnapshot::IndexSnapshot(Lucene::IndexReaderPtr opened, storage::Sequence up_to)
    : reader(std::move(opened)), complete_through(up_to) {
  searcher = Lucene::newLucene<Lucene::IndexSearcher>(reader);
  int32_t base = 0;
  const auto readers = reader->getSequentialSubReaders();
  if (!readers) {
    segments.push_back({reader, 0});
    return;
  }
  for (const auto& segment : readers) {
    segments.push_back({segment, base});
    base += segment->maxDoc();
  }
}

IndexSnapshot::~IndexSnapshot() {
  try {
    reader->close();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): its memory is freed nevertheless
  }
}

const IndexSnapshot::Segment& IndexSnapshot::segment_of(int32_t document) const {
  return *std::prev(std::ranges::upper_bound(segments, document, std::less<>{}, &Segment::base));
}

std::string IndexSnapshot::stored(int32_t document) const {
  const Segment& segment = segment_of(document);
  const Lucene::DocumentPtr found = segment.reader->document(document - segment.base);
  const Lucene::ByteArray bytes = found->getBinaryValue(stored_field);
  if (!bytes) return {};
  return {reinterpret_cast<const char*>(bytes.get()), static_cast<std::size_t>(bytes.size())};
}

}  // namespace octavo::query::search
