#include "query/executor/storage_statistics.h"

#include <algorithm>

#include "partitioning/scan.h"
#include "query/design/design_scan.h"
#include "query/executor/index_walk.h"
#include "query/index/automatic_index.h"

namespace octavo::query {

namespace {
// Counted ranges and ids at most, whatever the cap: a long $in is as costly to count as to run.
constexpr std::size_t kRangesCountedMax = 32;
}  // namespace

Expected<std::uint64_t> StorageStatistics::documents() {
  if (partition_key_.empty()) {
    OCTAVO_TRY(const auto all, database_.statistics());
    return all.document_count;
  }
  OCTAVO_TRY(const auto snapshot, database_.snapshot_for_partition_key(partition_key_));
  OCTAVO_TRY(const auto statistics, snapshot.statistics_of(partition_key_));
  return statistics.document_count;
}

Expected<std::uint64_t> StorageStatistics::design_documents() {
  std::uint64_t documents = 0;
  OCTAVO_TRY_VOID(for_each_design_document(database_, [&](const storage::DocumentView&) { ++documents; }));
  return documents;
}

Expected<std::uint64_t> StorageStatistics::entries(const IndexView& index) {
  return index.global ? index.global->size() : documents();
}

Expected<RowCount> StorageStatistics::count(const IndexView& index, std::span<const KeyRange> ranges,
                                            std::uint64_t cap) {
  OCTAVO_TRY(IndexReader reader, IndexReader::open(database_, index, {partition_key_, place_}));
  RowCount count;
  std::size_t counted = 0;
  for (const KeyRange& range : ranges) {
    if (++counted > kRangesCountedMax) {
      // The others are taken to be like those that were counted.
      count.rows = count.rows * ranges.size() / kRangesCountedMax;
      count.capped = true;
      return count;
    }
    IndexPosition position;
    std::size_t rows_left = static_cast<std::size_t>(cap - std::min(cap, count.rows));
    // What has to be passed over costs as much as what is found.
    OCTAVO_TRY(const auto state,
               walk_index(reader, {&range, 1}, false, position, rows_left, std::chrono::steady_clock::time_point::max(),
                          count.rows, [](const storage::KeyValue&) -> Expected<WalkStep> { return WalkStep::next; }));
    if (state == partitioning::ScanState::more || count.rows >= cap) {
      count.capped = true;
      return count;
    }
  }
  return count;
}

Expected<bool> StorageStatistics::order_is_exact(const IndexView& index) {
  IndexScope everything{{}, place_};
  if (!partition_key_.empty()) everything.place = database_.locate_partition_key(partition_key_);
  auto marks = *index.definition;
  marks.automatic_path = AutomaticIndex::inexact_path(*marks.automatic_path);
  const IndexView marked{std::make_shared<const IndexDefinition>(std::move(marks)), nullptr, index.numbers,
                         index.local_ready, index.places};
  OCTAVO_TRY(IndexReader inexact, IndexReader::open(database_, marked, everything));
  if (inexact.seek({})) return false;
  if (index.definition->fields.size() > 1) return true;
  // Arrays and objects, whose entries do not tell what is in them, come last.
  std::string array;
  append_sort_key(array, boost::json::value(boost::json::array()));
  OCTAVO_TRY(IndexReader reader, IndexReader::open(database_, index, everything));
  return !reader.seek(array).has_value();
}

Expected<RowCount> StorageStatistics::count_ids(std::span<const IdRange> ranges, std::uint64_t cap) {
  RowCount count;
  for (const IdRange& range : ranges) {
    if (range.is_point()) {
      ++count.rows;
      continue;
    }
    partitioning::DocumentRange bounds;
    bounds.start = range.start;
    bounds.end = range.end;
    bounds.end_inclusive = range.end_inclusive;
    if (!partition_key_.empty()) bounds.partition_key = partition_key_;
    partitioning::DocumentScan scan(database_, std::move(bounds));
    OCTAVO_TRY(const auto state, scan.run({cap}, [&](const storage::DocumentView& document, const storage::Snapshot&) {
      if (!document.deleted && !storage::is_design_id(document.id)) ++count.rows;
      return partitioning::Visit::next;
    }));
    if (state == partitioning::ScanState::more || count.rows >= cap) {
      count.capped = true;
      return count;
    }
  }
  return count;
}

}  // namespace octavo::query
