#include "partitioning/scan.h"

#include <algorithm>
#include <deque>
#include <type_traits>

namespace octavo::partitioning {
namespace {

/// Snapshots of the physical partitions that a scan reads: one for a logical partition, else the given one or all.
Expected<std::deque<storage::Snapshot>> take_snapshots(
    const Database& database, const std::optional<std::string>& partition_key,
    std::optional<std::size_t> physical_partition = {},
    const std::function<std::vector<std::size_t>()>& partition_ids = {}) {
  std::deque<storage::Snapshot> snapshots;
  if (partition_key) {
    OCTAVO_TRY(storage::Snapshot one, database.snapshot_for_partition_key(*partition_key));
    snapshots.push_back(std::move(one));
    return snapshots;
  }
  if (physical_partition) {
    OCTAVO_TRY(storage::Snapshot one, database.snapshot(*physical_partition));
    snapshots.push_back(std::move(one));
    return snapshots;
  }
  for (const std::size_t partition_id : partition_ids ? partition_ids() : database.partition_ids()) {
    OCTAVO_TRY(storage::Snapshot one, database.snapshot(partition_id));
    snapshots.push_back(std::move(one));
  }
  return snapshots;
}

std::unexpected<Error> tombstones_gone() {
  return fail(ErrorCode::bad_request,
              "Some deletions after this position are no longer kept (tombstone_retention): begin again from 0, with "
              "an empty target.",
              "tombstones_gone");
}

/// Merges sorted sources: each has a current row; `before(a, b)` tells whether a's row comes first. There are few
/// sources, so a linear search is faster than a heap.
template <class Cursor, class Row>
struct Source {
  Cursor cursor;
  std::optional<Row> row;
  const storage::Snapshot* snapshot;
};

template <class Sources, class Before>
auto* first_of(Sources& sources, Before before) {
  auto* first = static_cast<typename Sources::value_type*>(nullptr);
  for (auto& source : sources) {
    if (source.row && (first == nullptr || before(*source.row, *first->row))) first = &source;
  }
  return first;
}

}  // namespace

DocumentScan::DocumentScan(Database& database, DocumentRange range) : database_(database), range_(std::move(range)) {
  if (!range_.partition_key) return;
  // The ids of a logical partition lie between "key:" and "key;", as ';' is the next byte after ':'.
  const std::string low = *range_.partition_key + ":";
  const std::string high = *range_.partition_key + ";";
  auto& lower = range_.descending ? range_.end : range_.start;
  auto& upper = range_.descending ? range_.start : range_.end;
  if (!lower || *lower < low) {
    lower = low;
    if (range_.descending) range_.end_inclusive = true;
  }
  if (!upper || *upper >= high) {
    upper = high;
    if (!range_.descending) range_.end_inclusive = false;
  }
}

Expected<ScanState> DocumentScan::run(
    ScanBudget budget, FunctionRef<Visit(const storage::DocumentView&, const storage::Snapshot&)> visit) {
  const auto open = [this](const storage::Snapshot& snapshot) {
    return range_.as_stored ? snapshot.stored_documents() : snapshot.documents();
  };
  return walk<storage::DocumentView>(budget, open, visit);
}

Expected<ScanState> DocumentScan::run_records(
    ScanBudget budget, FunctionRef<Visit(const storage::DocumentRecord&, const storage::Snapshot&)> visit) {
  const auto open = [this](const storage::Snapshot& snapshot) {
    return range_.as_stored ? snapshot.stored_records() : snapshot.records();
  };
  return walk<storage::DocumentRecord>(budget, open, visit);
}

// `open` returns the cursor of a snapshot.
template <class Row, class Open, class Visitor>
Expected<ScanState> DocumentScan::walk(ScanBudget budget, Open open, Visitor visit) {
  if (done_) return ScanState::done;
  OCTAVO_TRY(const auto snapshots,
             take_snapshots(database_, range_.partition_key, range_.physical_partition, range_.partition_ids));

  const bool descending = range_.descending;
  std::vector<Source<std::invoke_result_t<Open&, const storage::Snapshot&>, Row>> sources;
  sources.reserve(snapshots.size());
  for (const storage::Snapshot& snapshot : snapshots) {
    auto cursor = open(snapshot);
    std::optional<Row> row;
    const std::optional<std::string>& from = last_ ? last_ : range_.start;
    if (!descending) {
      row = cursor.seek(from ? std::string_view(*from) : std::string_view{});
      if (row && last_ && row->id == *last_) row = cursor.next();
    } else {
      row = from ? cursor.seek_back(*from) : cursor.last();
      if (row && last_ && row->id == *last_) row = cursor.previous();
    }
    sources.push_back({std::move(cursor), row, &snapshot});
  }

  for (std::size_t seen = 0; seen < budget.rows_max; ++seen) {
    auto* source = first_of(
        sources, [descending](const auto& a, const auto& b) { return descending ? a.id > b.id : a.id < b.id; });
    if (source == nullptr) {
      done_ = true;
      return ScanState::done;
    }
    const Row& document = *source->row;
    if (range_.end) {
      const int order = document.id.compare(*range_.end);
      const bool past = order == 0 ? !range_.end_inclusive : (order > 0) != descending;
      if (past) {
        done_ = true;
        return ScanState::done;
      }
    }
    const Visit verdict = visit(document, *source->snapshot);
    const bool last_of_slice = verdict != Visit::next || seen + 1 == budget.rows_max || budget.is_over_after(seen + 1);
    if (last_of_slice) last_ = std::string(document.id);
    if (verdict == Visit::stop) {
      done_ = true;
      return ScanState::done;
    }
    if (last_of_slice) return ScanState::more;
    source->row = descending ? source->cursor.previous() : source->cursor.next();
  }
  return ScanState::more;
}

Expected<void> require_tombstones(const storage::Snapshot& snapshot, storage::Sequence known_through) {
  OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
  if (counters.dropped_through > known_through) return tombstones_gone();
  return {};
}

FeedScan::FeedScan(Database& database, FeedRange range)
    : database_(database), range_(std::move(range)), position_(range_.since) {}

Expected<ScanState> FeedScan::run(ScanBudget budget,
                                  FunctionRef<Visit(const storage::FeedRow&, const storage::Snapshot&)> visit) {
  // The watermark first, then the snapshots, which therefore contain everything up to it.
  const bool descending = range_.descending;
  const storage::Sequence newest = database_.watermark();
  const storage::Sequence watermark = descending ? newest : std::min(newest, range_.until);
  beyond_.clear();
  dropped_through_ = 0;
  // A walk that has shown rows looks once more for those that have moved.
  const bool nothing_moved = !range_.notes_beyond || position_ == range_.since;
  if (!descending && position_ >= watermark && nothing_moved) return ScanState::done;
  OCTAVO_TRY(const auto snapshots, take_snapshots(database_, range_.partition_key));
  if (descending && !upper_) upper_ = watermark;
  // In these very snapshots, as more may be dropped at any time.
  for (const storage::Snapshot& snapshot : snapshots) {
    OCTAVO_TRY(const storage::PartitionCounters counters, snapshot.counters());
    dropped_through_ = std::max(dropped_through_, counters.dropped_through);
  }
  const storage::Sequence known_through = descending ? range_.since : position_;
  if (range_.floor && dropped_through_ > std::max(known_through, *range_.floor)) return tombstones_gone();

  std::vector<Source<storage::Snapshot::FeedCursor, storage::FeedRow>> sources;
  sources.reserve(snapshots.size());
  for (const storage::Snapshot& snapshot : snapshots) {
    auto cursor = range_.partition_key ? snapshot.feed_of(*range_.partition_key) : snapshot.feed();
    auto row = descending ? cursor.seek_back(*upper_) : cursor.seek(position_ + 1);
    sources.push_back({std::move(cursor), row, &snapshot});
  }

  for (std::size_t seen = 0; seen < budget.rows_max; ++seen) {
    auto* source = first_of(sources, [descending](const auto& a, const auto& b) {
      return descending ? a.sequence > b.sequence : a.sequence < b.sequence;
    });
    const bool past =
        source == nullptr || (descending ? source->row->sequence <= range_.since : source->row->sequence > watermark);
    if (past) {
      if (descending) return ScanState::done;
      position_ = std::max(position_, watermark);
      if (!range_.notes_beyond) return ScanState::done;
      std::size_t rows_left = beyond_rows_max;
      for (auto& rest : sources) {
        for (; rest.row && beyond_.size() < beyond_max && rows_left > 0; --rows_left, rest.row = rest.cursor.next()) {
          const bool is_new = rest.row->revision.generation == 1 && !rest.row->has_conflicts;
          if (!is_new || range_.notes_new_beyond) beyond_.emplace_back(rest.row->id);
        }
      }
      return ScanState::done;
    }
    const storage::FeedRow& row = *source->row;
    if (descending) {
      upper_ = row.sequence - 1;
    } else {
      position_ = row.sequence;
    }
    const Visit verdict = visit(row, *source->snapshot);
    if (verdict == Visit::stop) return ScanState::done;
    if (verdict == Visit::pause || budget.is_over_after(seen + 1)) return ScanState::more;
    source->row = descending ? source->cursor.previous() : source->cursor.next();
  }
  return ScanState::more;
}

VersionScan::VersionScan(Database& database, VersionRange range)
    : database_(database), range_(std::move(range)), position_(range_.since) {}

Expected<std::vector<std::size_t>> VersionScan::partition_ids_now() const {
  if (range_.partition_ids) return range_.partition_ids();
  if (range_.partition_key) return std::vector{database_.locate_partition_key(*range_.partition_key)};
  return database_.partition_ids();
}

Expected<ScanState> VersionScan::run(ScanBudget budget, FunctionRef<Visit(const storage::VersionRow&)> visit) {
  const storage::Sequence watermark = database_.watermark();
  if (position_ >= watermark) return ScanState::done;  // also for the greatest position, which has no successor
  std::deque<storage::Snapshot> snapshots;
  std::vector<Source<storage::VersionLog::Cursor, storage::VersionRow>> sources;
  // After the watermark: parts of a partition that is split only now contain everything up to it.
  OCTAVO_TRY(const auto partition_ids, partition_ids_now());
  for (const std::size_t partition_id : partition_ids) {
    OCTAVO_TRY(storage::Snapshot one, database_.snapshot(partition_id));
    snapshots.push_back(std::move(one));
    OCTAVO_TRY(const storage::Sequence since, snapshots.back().versions_since());
    if (since > position_) {
      return fail(ErrorCode::bad_request,
                  "Some versions above this position are no longer kept, or never were: begin from now, or from a "
                  "time within the retention.",
                  "versions_gone");
    }
    auto cursor = snapshots.back().versions().rows();
    auto row = cursor.seek(position_ + 1);
    sources.push_back({std::move(cursor), row, &snapshots.back()});
  }
  for (std::size_t seen = 0; seen < budget.rows_max; ++seen) {
    auto* source = first_of(sources, [](const auto& a, const auto& b) { return a.sequence < b.sequence; });
    if (source == nullptr || source->row->sequence > watermark) {
      position_ = std::max(position_, watermark);
      return ScanState::done;
    }
    const storage::VersionRow& row = *source->row;
    const bool shown = !range_.partition_key || storage::in_logical_partition(row.id, *range_.partition_key);
    const Visit verdict = shown ? visit(row) : Visit::next;
    position_ = row.sequence;
    if (verdict == Visit::stop) return ScanState::done;
    if (verdict == Visit::pause || budget.is_over_after(seen + 1)) return ScanState::more;
    source->row = source->cursor.next();
  }
  return ScanState::more;
}

// Times grow with sequences unless the clock was set back: then this begins too early, or shows everything.
Expected<storage::Sequence> VersionScan::position_at(const Database& database,
                                                     std::span<const std::size_t> partition_ids, std::int64_t time_s) {
  storage::Sequence position = database.watermark();
  // Sequences grow over all physical partitions, so the first version among all of them counts.
  for (const std::size_t partition_id : partition_ids) {
    OCTAVO_TRY(const storage::Snapshot snapshot, database.snapshot(partition_id));
    OCTAVO_TRY(storage::Sequence low, snapshot.versions_since());
    OCTAVO_TRY(storage::Sequence high, snapshot.last_sequence());
    auto cursor = snapshot.versions().rows();
    while (low < high) {
      const storage::Sequence middle = low + (high - low) / 2;
      const auto row = cursor.seek(middle + 1);
      if (!row || row->time_s >= time_s) {
        high = middle;
      } else {
        low = row->sequence;
      }
    }
    if (const auto first = cursor.seek(low + 1)) position = std::min(position, first->sequence - 1);
  }
  return position;
}

}  // namespace octavo::partitioning
