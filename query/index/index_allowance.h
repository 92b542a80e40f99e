#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

#include "partitioning/database.h"
#include "storage/error.h"

namespace octavo::query {

/// How many views and search indexes a database can have, counted together: as many as JSON indexes.
inline constexpr std::size_t feed_indexes_per_database_max = 1'000;

/// What a query of an index that is beyond the limit is told.
inline constexpr std::string_view index_beyond_limit_reason =
    "The design documents of this database define more indexes than the 1,000 that it can have: those of the last ids, "
    "this one among them, are not made.";

/// How many more indexes the design documents of a database may define. Read once for a request that writes design
/// documents, and asked for each of them in turn. Not thread-safe. Two requests at once may both get the last place:
/// what is then too much is not made, which the log and the queries say.
class IndexAllowance {
 public:
  /// Counts what the stored design documents define. Reads and parses all of them: on a worker.
  static Expected<IndexAllowance> read(partitioning::Database& database);

  /// Design document `id` will be `body`. Errors: forbidden, when the database would have more indexes of one sort than
  /// it can, and this document defines more of them than before.
  Expected<void> take(std::string_view id, std::string_view body);

 private:
  struct Count {
    std::size_t json = 0;
    std::size_t feed = 0;  ///< views of one design document are one index
  };
  explicit IndexAllowance(bool partitioned) : partitioned_(partitioned) {}
  Count count(std::string_view id, std::string_view body) const;

  bool partitioned_;
  Count total_;
  std::map<std::string, Count, std::less<>> by_document_;  ///< those that define any
};

}  // namespace octavo::query
