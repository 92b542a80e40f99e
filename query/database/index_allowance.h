#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"

namespace octavo::query {

class DatabaseServices;

/// The error text of queries that use an index beyond the limit.
inline constexpr std::string_view index_beyond_limit_reason =
    "The design documents of this database define more indexes than the 1,000 that it can have: those of the last ids, "
    "this one among them, are not made.";

/// How many more indexes the design documents of a database may define; for one request, which checks each design
/// document that it writes in turn. If the last count is far below the limit it is used; otherwise all stored design
/// documents are read and parsed, on a worker. Not thread-safe; `database` must outlive it. Two concurrent requests may
/// both get the last place: an index beyond the limit is then not built, which the log and queries report.
class IndexAllowance {
 public:
  /// `services`: those of `database`, which know the last count; null: it is unknown.
  IndexAllowance(partitioning::Database& database, const DatabaseServices* services);

  /// Checks that design document `id` may become `body`. Errors: forbidden if the database would have too many indexes
  /// of one sort, and this document defines more of them than before; those of the storage.
  Expected<void> take(std::string_view id, std::string_view body);

 private:
  struct Count {
    std::size_t json = 0;
    std::size_t feed = 0;  ///< views of one design document count as one index
  };
  Count count(std::string_view id, std::string_view body) const;
  bool is_far_from_limit(const Count& more) const;
  Expected<void> read_all();

  partitioning::Database& database_;
  bool is_counted_ = false;  ///< all were read; otherwise `total_` is the last known count, or nothing
  bool is_known_ = false;
  Count total_;
  std::map<std::string, Count, std::less<>> by_document_;  ///< documents that define any
};

}  // namespace octavo::query
