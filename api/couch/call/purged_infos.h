#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "storage/catalog.h"

/// What `_purge` removed from a database, for `_purged_infos`. Blocking; thread-safe.
namespace octavo::api::couch {

/// The number of purged documents that are remembered: `_purged_infos_limit`.
Expected<std::uint64_t> purged_infos_limit(storage::Catalog& catalog, const partitioning::Database& database);
Expected<void> set_purged_infos_limit(storage::Catalog& catalog, const partitioning::Database& database,
                                      std::uint64_t limit);

/// The remembered documents as a JSON array of `{"id":…,"revs":[…]}`, oldest first.
Expected<std::string> purged_infos(storage::Catalog& catalog, const partitioning::Database& database);
/// Adds `infos`, JSON objects of this form, and forgets the oldest ones beyond the limit or 1 MiB.
Expected<void> add_purged_infos(storage::Catalog& catalog, const partitioning::Database& database,
                                const std::vector<std::string>& infos);

}  // namespace octavo::api::couch
