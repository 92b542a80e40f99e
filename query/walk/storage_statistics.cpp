#include "query/walk/storage_statistics.h"

#include <algorithm>
#include <set>

#include "partitioning/scan.h"
#include "query/design/design_scan.h"
#include "query/index/automatic_index.h"
#include "query/walk/index_reader.h"
#include "query/walk/index_walk.h"

namespace octavo::query {

namespace {

// If there are more ranges, this many evenly spread ones are examined.
constexpr std::size_t ranges_looked_at_max = 32;
// If a size is unknown, at most rows_counted_max rows are counted; if there are more, uncounted_share of all is
// assumed.
constexpr std::size_t rows_counted_max = 1'024;
constexpr double uncounted_share = 0.1;

Expected<RowCount> count_rows(IndexReader& reader, const KeyRange& range, std::uint64_t all) {
  RowCount count;
  IndexPosition position;
  std::size_t rows_left = rows_counted_max;
  OCTAVO_TRY(const auto state,
             walk_index(reader, {&range, 1}, false, position, rows_left, std::chrono::steady_clock::time_point::max(),
                        count.rows, [](const storage::KeyValue&) -> Expected<WalkStep> { return WalkStep::next; }));
  if (state == partitioning::ScanState::done) return count;
  count.exact = false;
  count.rows = std::max(count.rows, static_cast<std::uint64_t>(uncounted_share * static_cast<double>(all)));
  return count;
}

}  // namespace

Expected<StorageStatistics::Documents> StorageStatistics::documents() {
  if (documents_) return *documents_;
  storage::DocumentStatistics found;
  if (partition_key_.empty()) {
    OCTAVO_TRY(found, database_.statistics());
  } else {
    OCTAVO_TRY(const auto snapshot, database_.snapshot_for_partition_key(partition_key_));
    OCTAVO_TRY(found, snapshot.statistics_of(partition_key_));
  }
  const auto count = static_cast<double>(std::max<std::uint64_t>(found.document_count, 1));
  documents_ = Documents{found.document_count, static_cast<double>(found.external_bytes) / count};
  return *documents_;
}

bool StorageStatistics::are_as_planned(std::uint64_t planned_documents) {
  const auto now = documents();
  if (!now) return false;
  const std::uint64_t count = now->count;
  const std::uint64_t difference = count > planned_documents ? count - planned_documents : planned_documents - count;
  return difference <= planned_documents / 8;
}

Expected<std::uint64_t> StorageStatistics::design_documents() {
  std::uint64_t documents = 0;
  if (!partition_key_.empty()) return documents;
  OCTAVO_TRY_VOID(for_each_design_document(database_, [&](const storage::DocumentView& document) {
    if (!partition_id_ || database_.locate_document(document.id) == *partition_id_) ++documents;
  }));
  return documents;
}

Expected<std::uint64_t> StorageStatistics::entries(const IndexView& index) {
  if (index.global) return index.global->entry_count();
  OCTAVO_TRY(const Documents all, documents());
  return all.count;
}

Expected<RowCount> StorageStatistics::size(const IndexView& index, std::span<const KeyRange> ranges) {
  OCTAVO_TRY(IndexReader reader, IndexReader::open(database_, index, {partition_key_, partition_id_}));
  const std::size_t looked_at = std::min(ranges.size(), ranges_looked_at_max);
  RowCount sum;
  for (std::size_t i = 0; i < looked_at; ++i) {
    const KeyRange& range = ranges[i * ranges.size() / looked_at];
    if (const auto size = reader.range_size(range.begin, range.end, closeness_)) {
      sum.rows += size->rows;
      sum.exact = sum.exact && size->exact;
      continue;
    }
    OCTAVO_TRY(const std::uint64_t all, entries(index));
    OCTAVO_TRY(const RowCount counted, count_rows(reader, range, all));
    sum.rows += counted.rows;
    sum.exact = sum.exact && counted.exact;
  }
  if (looked_at < ranges.size()) {
    sum.rows = sum.rows * ranges.size() / looked_at;
    sum.exact = false;
  }
  if (reader.has_others()) {
    // The ranges also have entries of other logical partitions.
    OCTAVO_TRY(const Documents own, documents());
    sum.exact = sum.exact && sum.rows == 0;
    sum.rows = std::min(sum.rows, own.count);
  }
  return sum;
}

Expected<bool> StorageStatistics::order_is_exact(const IndexView& index) {
  IndexScope everything{{}, partition_id_};
  if (!partition_key_.empty()) everything.partition_id = database_.locate_partition_key(partition_key_);
  auto marks = *index.definition;
  marks.automatic_path = AutomaticIndex::inexact_path(*marks.automatic_path);
  marks.absence = nullptr;
  const IndexView marked{std::make_shared<const IndexDefinition>(std::move(marks)), nullptr, index.numbers,
                         index.local_ready, index.partition_ids};
  OCTAVO_TRY(IndexReader inexact, IndexReader::open(database_, marked, everything));
  if (inexact.seek({})) return false;
  if (index.definition->fields.size() > 1) return true;
  // Arrays and objects come last; the keys of their entries do not include what is in them.
  std::string array;
  append_sort_key(array, boost::json::value(boost::json::array()));
  OCTAVO_TRY(IndexReader reader, IndexReader::open(database_, index, everything));
  const auto found = reader.seek(array);
  return !found || found->key.front() == AutomaticIndex::unplain_tag;
}

Expected<RowCount> StorageStatistics::size_of_ids(std::span<const IdRange> ranges) {
  RowCount sum;
  for (const IdRange& range : ranges) {
    if (range.is_point()) {
      ++sum.rows;
      continue;
    }
    OCTAVO_TRY(const RowCount size, size_of_ids(range));
    sum.rows += size.rows;
    sum.exact = sum.exact && size.exact;
  }
  OCTAVO_TRY(const Documents all, documents());
  sum.rows = std::min<std::uint64_t>(sum.rows, std::max<std::uint64_t>(all.count, ranges.size()));
  return sum;
}

// The trees also have rows of design documents and of expired ones.
Expected<RowCount> StorageStatistics::size_of_ids(const IdRange& range) {
  RowCount sum{.rows = 0, .exact = false};
  std::string low = range.start.value_or(std::string());
  std::optional<std::string> high = range.end;
  if (!partition_key_.empty()) {
    low = std::max(low, partition_key_ + ':');
    const std::string beyond = partition_key_ + static_cast<char>(':' + 1);
    high = high ? std::min(*high, beyond) : beyond;
  }
  const auto add = [&](std::size_t partition_id) -> Expected<void> {
    OCTAVO_TRY(const auto snapshot, database_.snapshot(partition_id));
    if (const auto size = snapshot.documents_estimate(low, high, closeness_)) {
      sum.rows += size->rows;
      return {};
    }
    OCTAVO_TRY(const auto statistics, snapshot.statistics());
    sum.rows += static_cast<std::uint64_t>(uncounted_share * static_cast<double>(statistics.document_count));
    return {};
  };
  if (!partition_key_.empty()) {
    OCTAVO_TRY_VOID(add(database_.locate_partition_key(partition_key_)));
  } else if (partition_id_) {
    OCTAVO_TRY_VOID(add(*partition_id_));
  } else {
    for (const std::size_t partition_id : database_.partition_ids()) OCTAVO_TRY_VOID(add(partition_id));
  }
  return sum;
}

std::optional<std::size_t> ranges_of_points(const partitioning::Database& database, std::span<const Branch> branches) {
  const bool only_points = !branches.empty() && std::ranges::all_of(branches, [](const Branch& branch) {
    return !branch.index && std::ranges::all_of(branch.id_ranges, &IdRange::is_point);
  });
  if (!only_points) return std::nullopt;
  std::set<std::size_t> partition_ids;
  for (const Branch& branch : branches) {
    for (const IdRange& range : branch.id_ranges) partition_ids.insert(database.locate_document(*range.start));
  }
  return std::max<std::size_t>(partition_ids.size(), 1);
}

}  // namespace octavo::query
