#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "storage/partition/snapshot.h"

namespace octavo::partitioning {

/// How much one call of a scan may do before it releases its snapshots. Short reads run on the I/O thread in one slice;
/// longer ones continue, slice by slice, on a worker.
struct ScanBudget {
  using Clock = std::chrono::steady_clock;

  /// A slice also ends when this much output waits to be sent. Whatever writes the output checks this.
  static constexpr std::size_t output_bytes_max = 64ULL << 10;

  std::size_t rows_max = 256;                          ///< rows read
  Clock::time_point until = Clock::time_point::max();  ///< checked every few rows; the first rows are always taken

  /// Testing a row may be expensive (a regular expression), and an I/O thread serves other connections, too.
  static ScanBudget inline_slice() { return {256, Clock::now() + std::chrono::milliseconds{2}}; }
  static ScanBudget worker_slice() { return {8192, Clock::now() + std::chrono::milliseconds{10}}; }

  /// Whether the time is over, after this many rows. Reads the clock only every few rows.
  bool is_over_after(std::size_t rows) const {
    constexpr std::size_t rows_between_looks = 8;
    return rows % rows_between_looks == 0 && until != Clock::time_point::max() && Clock::now() >= until;
  }
};

enum class ScanState : std::uint8_t { more, done };

/// A visitor's reply to a row.
enum class Visit : std::uint8_t {
  next,   ///< continue
  pause,  ///< row taken; end this slice (e.g. because the output buffer is full)
  stop    ///< row taken; the scan is done
};

/// Range of document ids, in the direction of the scan: `start` comes first also when descending.
struct DocumentRange {
  std::optional<std::string> start;  ///< absent: from the end of the id space at which the scan starts
  std::optional<std::string> end;
  bool end_inclusive = true;
  bool descending = false;
  std::optional<std::string> partition_key;       ///< only this logical partition; start and end are complete ids
  std::optional<std::size_t> physical_partition;  ///< without key: only this partition id; see Database::snapshot
  /// Without either: only these partition ids, evaluated at each call, as partitions may be split between slices. Null:
  /// all.
  std::function<std::vector<std::size_t>()> partition_ids;
  bool as_stored = false;  ///< see Snapshot::find_stored_record
};

/// Walks documents in byte order of their ids over all physical partitions (merged). Some may be deleted ones: see
/// Snapshot::RecordCursor. Holds no snapshot between calls: each slice resumes by key. One thread at a time.
class DocumentScan {
 public:
  DocumentScan(Database& database, DocumentRange range);
  /// Visits rows until the visitor or the budget ends the slice. Views of a row live until the visitor returns.
  Expected<ScanState> run(ScanBudget budget,
                          FunctionRef<Visit(const storage::DocumentView&, const storage::Snapshot&)> visit);
  /// Does the same as run(), without opening the bodies.
  Expected<ScanState> run_records(ScanBudget budget,
                                  FunctionRef<Visit(const storage::DocumentRecord&, const storage::Snapshot&)> visit);

 private:
  template <class Row, class Open, class Visitor>
  Expected<ScanState> walk(ScanBudget budget, Open open, Visitor visit);

  Database& database_;
  DocumentRange range_;
  std::optional<std::string> last_;  ///< id of the last row visited
  bool done_ = false;
};

/// Range of the feed. `since` is exclusive: ascending scans visit the rows after it, descending ones go from the newest
/// row down to it.
struct FeedRange {
  storage::Sequence since = 0;
  bool descending = false;
  std::optional<std::string> partition_key = {};
  bool notes_beyond = false;     ///< see FeedScan::beyond
  bool notes_new_beyond = true;  ///< also documents that have only one revision: they did not exist before
  storage::Sequence until = ~storage::Sequence{0};  ///< see FeedScan::stop_at
  /// FeedPosition::floor of a reader that must be shown every deletion since. Absent: it needs none, or finds out by
  /// FeedScan::dropped_through() what it has missed.
  std::optional<storage::Sequence> floor = {};
};

/// Error bad_request (`tombstones_gone`) if some tombstones above `known_through` were dropped in the snapshot.
Expected<void> require_tombstones(const storage::Snapshot& snapshot, storage::Sequence known_through);

/// Walks the feed in sequence order over all physical partitions, up to the watermark at the time of each call.
/// `done` means: nothing more at that watermark, or at stop_at(); a later call continues where it stopped.
class FeedScan {
 public:
  FeedScan(Database& database, FeedRange range);
  /// Errors: also bad_request (`tombstones_gone`) if the range has a floor, and some tombstones that the reader needs
  /// were dropped.
  Expected<ScanState> run(ScanBudget budget,
                          FunctionRef<Visit(const storage::FeedRow&, const storage::Snapshot&)> visit);
  /// Tombstones up to this sequence may be missing in what the last call has shown.
  storage::Sequence dropped_through() const { return dropped_through_; }
  /// All rows at or below this sequence have been visited or need not be: the follower's `last_seq`.
  storage::Sequence position() const { return position_; }
  /// For ascending scans: later rows are not visited, unless this is raised.
  void stop_at(storage::Sequence until) { range_.until = until; }
  /// For ascending scans, with `notes_beyond`: documents whose rows were beyond the watermark, because they were just
  /// being written, or beyond stop_at(). A document that is missing from the complete feed is one of them.
  const std::vector<std::string>& beyond() const { return beyond_; }
  static constexpr std::size_t beyond_max = 10'000;        ///< more are not noted
  static constexpr std::size_t beyond_rows_max = 100'000;  ///< nor those behind this many rows

 private:
  Database& database_;
  FeedRange range_;
  storage::Sequence position_;
  storage::Sequence dropped_through_ = 0;
  std::vector<std::string> beyond_;
  std::optional<storage::Sequence> upper_;  ///< descending: next row is at or below this
};

/// Range of a walk over the versions of documents.
struct VersionRange {
  storage::Sequence since = 0;  ///< exclusive
  std::optional<std::string> partition_key;
  /// The partition ids to read, evaluated at each call, as partitions may be split between slices. Null: all, or that
  /// of the partition key.
  std::function<Expected<std::vector<std::size_t>>()> partition_ids;
};

/// Walks the versions of documents in sequence order, up to the watermark at the time of each call, as FeedScan walks
/// the feed. For one logical partition it reads all versions of its physical partition.
class VersionScan {
 public:
  VersionScan(Database& database, VersionRange range);
  /// Errors: bad_request (`versions_gone`) if some versions above the position are no longer kept, or never were.
  Expected<ScanState> run(ScanBudget budget, FunctionRef<Visit(const storage::VersionRow&)> visit);
  storage::Sequence position() const { return position_; }

  /// The position after which the versions of `time_s` and later begin; the watermark if there are none yet.
  static Expected<storage::Sequence> position_at(const Database& database, std::span<const std::size_t> partition_ids,
                                                 std::int64_t time_s);

 private:
  Expected<std::vector<std::size_t>> partition_ids_now() const;

  Database& database_;
  VersionRange range_;
  storage::Sequence position_;
};

}  // namespace octavo::partitioning
