#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/scan.h"

/// Private to Projection.
namespace octavo::query::project {

/// Some ids of rows that are to be replaced, in order.
struct FormerRows {
  std::vector<std::string> ids;
  std::string through;  ///< they are all up to here; empty: all there are
};

/// The rows that a target has of one owner. Reads the target once: rows that come up meanwhile may be missing.
class RowsOfTarget {
 public:
  RowsOfTarget(partitioning::Database& target, std::uint32_t owner, std::string_view after)
      : owner_(owner), scan_(target, range_from(after)) {}

  /// At most `count_max` of those after `after`, which is not before the one of the last call. Reads for a bounded
  /// time, so there may be fewer although there are more.
  Expected<FormerRows> after(std::string_view after, std::size_t count_max) {
    while (!found_.empty() && found_.front() <= after) found_.pop_front();
    while (!is_done_ && found_.size() < count_max) {
      OCTAVO_TRY_VOID(read());
      if (read_through_ > after) break;
    }
    FormerRows rows;
    const auto count = static_cast<std::ptrdiff_t>(std::min(found_.size(), count_max));
    rows.ids.assign(found_.begin(), found_.begin() + count);
    if (rows.ids.size() < found_.size()) {
      rows.through = rows.ids.back();
    } else if (!is_done_) {
      rows.through = read_through_;
    }
    return rows;
  }

 private:
  static partitioning::DocumentRange range_from(std::string_view after) {
    partitioning::DocumentRange range;
    range.as_stored = true;
    if (!after.empty()) range.start = std::string(after);
    return range;
  }
  Expected<void> read() {
    const auto visit = [&](const storage::DocumentRecord& record, const storage::Snapshot&) {
      if (record.owner == owner_ && !record.deleted) found_.emplace_back(record.id);
      read_through_ = record.id;
      return partitioning::Visit::next;
    };
    OCTAVO_TRY(const auto state, scan_.run_records(partitioning::ScanBudget::worker_slice(), visit));
    is_done_ = state == partitioning::ScanState::done;
    return {};
  }

  const std::uint32_t owner_;
  partitioning::DocumentScan scan_;
  std::deque<std::string> found_;
  std::string read_through_;
  bool is_done_ = false;
};

}  // namespace octavo::query::project
