#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"

namespace octavo::query {

/// How many views and search indexes a database can have, counted together: as many as JSON indexes.
inline constexpr std::size_t feed_indexes_per_database_max = 1'000;

/// What a query of an index that is beyond the limit is told.
inline constexpr std::string_view index_beyond_limit_reason =
    "The design documents of this database define more indexes than the 1,000 that it can have: those of the last ids, "
    "this one among them, are not made.";

/// How many more indexes the design documents of a database may define: for one request that writes some, asked for
/// each of them in turn. Where the last count is far below the limit that is enough, otherwise all stored design
/// documents are read and parsed: on a worker. Not thread-safe; `database` outlives it. Two requests at once may both
/// get the last place: what is then too much is not made, which the log and the queries say.
class IndexAllowance {
 public:
  explicit IndexAllowance(partitioning::Database& database);

  /// Design document `id` will be `body`. Errors: forbidden, when the database would have more indexes of one sort than
  /// it can, and this document defines more of them than before; those of the storage.
  Expected<void> take(std::string_view id, std::string_view body);

 private:
  struct Count {
    std::size_t json = 0;
    std::size_t feed = 0;  ///< views of one design document are one index
  };
  Count count(std::string_view id, std::string_view body) const;
  bool is_far_from_limit(const Count& more) const;
  Expected<void> read_all();

  partitioning::Database& database_;
  bool is_counted_ = false;  ///< by reading all; otherwise `total_` is what was known, or nothing
  bool is_known_ = false;
  Count total_;
  std::map<std::string, Count, std::less<>> by_document_;  ///< those that define any
};

}  // namespace octavo::query
