#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "partitioning/database.h"
#include "query/index/automatic_index.h"
#include "storage/partition/unique_keys.h"

namespace octavo::query {

/// What a database does with its documents beyond storing them, in terms that both APIs share. Part of its definition,
/// which the API that created the database writes in its own format. A value type.
struct DatabaseProperties {
  /// Seconds that documents live unless their own `ttl` differs; -1: forever. Absent: `ttl` is an ordinary field.
  std::optional<std::int64_t> ttl_s = {};
  /// Request units per second for all requests, all physical partitions together; 0: unlimited.
  std::uint32_t throughput = 0;
  /// All databases with the same owner share the throughput; empty: it is the database's own.
  std::string throughput_owner = {};
  /// Seconds that each version of a document is kept for readers of the feed of all versions; 0: versions are not kept.
  std::int64_t all_versions_s = 0;
  /// Seconds after which the tombstone of a deletion may be dropped; 0: tombstones are kept for ever.
  std::int64_t tombstone_retention_s = 0;
  /// Whether replaced revisions stay readable for a while, as the server's settings say.
  bool keeps_replaced = false;
  std::shared_ptr<const storage::UniqueKeys> unique_keys = {};  ///< null: none
  AutomaticIndexPtr automatic_index = {};                       ///< of its indexing policy; null: none
};

/// Reads the properties from a database's definition. The program passes this function to DatabaseServices, so that no
/// layer below the APIs knows their formats. Called when a database is opened, and again after changes of the
/// definition or the partition map. May wait for the disk. Errors: corrupted.
using DefinitionReader = Expected<DatabaseProperties> (*)(partitioning::Database& database);

}  // namespace octavo::query
