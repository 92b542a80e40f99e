#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "partitioning/database.h"
#include "storage/function_ref.h"

namespace octavo::partitioning {

/// How much one call of a scan may do before it gives up its snapshots: reads that are surely short run on the I/O
/// thread in one slice; longer ones go on, slice by slice, on a worker.
struct ScanBudget {
  std::size_t rows_max = 256;  ///< rows looked at

  static constexpr ScanBudget inline_slice() { return {256}; }
  static constexpr ScanBudget worker_slice() { return {8192}; }
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
  std::optional<std::string> partition_key;  ///< only this logical partition; start and end are whole ids
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

 private:
  Database& database_;
  FeedRange range_;
  storage::Sequence position_;
  std::optional<storage::Sequence> upper_;  ///< descending: next row is at or below this
};

}  // namespace octavo::partitioning
