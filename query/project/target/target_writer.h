#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "partitioning/database.h"

namespace octavo::query::project {

/// An edit of the target. It may be repeated: it says what is there, not what changes.
struct RowWrite {
  std::string id;
  bool deleted = false;
  std::string body;
};

/// What became of a batch of writes.
struct WrittenRows {
  std::vector<std::string> refused;  ///< ids that another document has, or whose unique key another one has
  double request_units = 0;
};

/// Makes the writes in the target, as the projection with this number there, and returns when they are durable. Blocks:
/// not on a thread that writes or that I/O needs. Charges the target for them, without being refused by a throughput
/// that is used up: see wait_for_throughput(). Errors: those of a write that concern neither its id nor its keys
/// (disk_full, partition_full, not_found, overloaded, …); some of the writes may have been made then.
Expected<WrittenRows> write_rows(partitioning::Database& target, std::uint32_t owner, std::vector<RowWrite> writes);

/// Waits, for at most a second, until the target has throughput left. False: it has none, or `stopping` is true.
bool wait_for_throughput(const partitioning::Database& target, const std::atomic<bool>& stopping);

}  // namespace octavo::query::project
