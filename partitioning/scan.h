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

namespace octavo::partitioning {

/// How much one call of a scan may do before it gives up its snapshots: reads that are surely short run on the I/O
/// thread in one slice; longer ones go on, slice by slice, on a worker.
struct ScanBudget {
  using Clock = std::chrono::steady_clock;

  std::size_t rows_max = 256;                          ///< rows looked at
  Clock::time_point until = Clock::time_point::max();  ///< looked at now and then; the first rows are always taken

  /// Rows may cost much to test (a regular expression), and an I/O thread has other connections.
  static ScanBudget inline_slice() { return {256, Clock::now() + std::chrono::milliseconds{2}}; }
  static ScanBudget worker_slice() { return {8192, Clock::now() + std::chrono::milliseconds{10}}; }

  /// Whether the time is over, after so many rows. Reads the clock only every few rows.
  bool is_over_after(std::size_t rows) const {
    constexpr std::size_t kRowsBetweenLooks = 8;
    return rows % kRowsBetweenLooks == 0 && until != Clock::time_point::max() && Clock::now() >= until;
  }
};

enum class ScanState : std::uint8_t { more, done };

/// What a visitor says of the row it was shown.
enum class Visit : std::uint8_t {
  next,   ///< go on
  pause,  ///< row taken; end this slice (e.g. the output buffer is full)
  stop    ///< row taken; the scan is done
};

/// Range of document ids, in the direction of the scan: `start` is met first also when descending.
struct DocumentRange {
  std::optional<std::string> start;  ///< absent: from the end of the id space where the scan starts
  std::optional<std::string> end;
  bool end_inclusive = true;
  bool descending = false;
  std::optional<std::string> partition_key;       ///< only this logical partition; start and end are whole ids
  std::optional<std::size_t> physical_partition;  ///< without a partition key: only this place; see Database::snapshot
  /// Without either: only these places, as they are at each call, for what is read in parts may be split meanwhile.
  /// Null: all.
  std::function<std::vector<std::size_t>()> places;
  bool as_stored = false;  ///< see Snapshot::find_stored
};

/// Walks documents in byte order of their ids over all physical partitions (merged), tombstones included.
/// Holds no snapshot between calls: each slice resumes by key. One thread at a time.
class DocumentScan {
 public:
  DocumentScan(Database& database, DocumentRange range);
  /// Visits rows until the visitor or the budget ends the slice.
  Expected<ScanState> run(ScanBudget budget,
                          FunctionRef<Visit(const storage::DocumentView&, const storage::Snapshot&)> visit);

 private:
  Database& database_;
  DocumentRange range_;
  std::optional<std::string> last_;  ///< id of the last row visited
  bool done_ = false;
};

/// Range of the feed. `since` is exclusive: ascending scans rows after it, descending ones walk from the newest down to
/// `since`.
struct FeedRange {
  storage::Sequence since = 0;
  bool descending = false;
  std::optional<std::string> partition_key;
  bool notes_beyond = false;  ///< see FeedScan::beyond
};

/// Walks the feed in sequence order over all physical partitions, up to the watermark at the time of each call.
/// `done` means: nothing more at that watermark; calling again later continues where it stopped.
class FeedScan {
 public:
  FeedScan(Database& database, FeedRange range);
  Expected<ScanState> run(ScanBudget budget,
                          FunctionRef<Visit(const storage::FeedRow&, const storage::Snapshot&)> visit);
  /// All rows at or below have been visited (or need not be): the follower's `last_seq`.
  storage::Sequence position() const { return position_; }
  /// Ascending, if asked for: the documents whose rows stood beyond the watermark when the scan came to it, because
  /// they were just being written. A document that is missing from all of the feed is one of them.
  const std::vector<std::string>& beyond() const { return beyond_; }
  static constexpr std::size_t beyond_max = 10'000;  ///< more are not noted

 private:
  Database& database_;
  FeedRange range_;
  storage::Sequence position_;
  std::vector<std::string> beyond_;
  std::optional<storage::Sequence> upper_;  ///< descending: next row is at or below this
};

/// What a walk over the versions of documents shows.
struct VersionRange {
  storage::Sequence since = 0;  ///< exclusive
  std::optional<std::string> partition_key;
  /// Those asked for, as they are at each call: what is read in parts may be split meanwhile. Null: all, or that of the
  /// partition key.
  std::function<Expected<std::vector<std::size_t>>()> places;
};

/// Walks the versions of documents in sequence order, up to the watermark at the time of each call, as FeedScan walks
/// the feed. Of one logical partition it reads all versions of its physical partition.
class VersionScan {
 public:
  VersionScan(Database& database, VersionRange range);
  /// Errors: bad_request (`versions_gone`) when some above the position are not kept any more, or never were.
  Expected<ScanState> run(ScanBudget budget, FunctionRef<Visit(const storage::VersionRow&)> visit);
  storage::Sequence position() const { return position_; }

  /// The position from which on versions are those of `time_s` and later; the watermark when there are none yet.
  static Expected<storage::Sequence> position_at(const Database& database, std::span<const std::size_t> places,
                                                 std::int64_t time_s);

 private:
  Expected<std::vector<std::size_t>> places_now() const;

  Database& database_;
  VersionRange range_;
  storage::Sequence position_;
};

}  // namespace octavo::partitioning
