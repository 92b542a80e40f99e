#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/copy/database_copy.h"
#include "storage/catalog.h"

/// What the catalog has of copies.
///
/// Format (facts of copies):
///   area of the source    "copy/" id       → {"target_tag":…,"paused":…,"ended":…,"created":…,"definition":{…},
///                                             "removes_target":…}                the last one only if it is true
///   area of the target    "copied_from"    → {"tag":…,"source":…,"copy":…}    its source (tag and name), and the id
///   area of the source    "replaced_by"    → {"name":…,"copy":…}              the name that a copy has taken, its id
///   area "copies"         tag of a source  → (empty)              it may have copies that have not ended
namespace octavo::query::copy {

/// Those of a source, oldest first. Errors: corrupted.
Expected<std::vector<CopyRecord>> copies_of(storage::Catalog& catalog, std::string_view source_tag);
/// Stores a new copy; from then on its target belongs to it (project::owners_of). Errors: conflict if the target is
/// that of another copy (copy_target), or has projections.
Expected<void> add_copy(storage::Catalog& catalog, const partitioning::Database& source,
                        const partitioning::Database& target, const CopyRecord& record);
Expected<void> store_copy(storage::Catalog& catalog, std::string_view source_tag, const CopyRecord& record);
Expected<void> erase_copy(storage::Catalog& catalog, std::string_view source_tag, const CopyRecord& record);
/// What ends a copy whose target takes the name of its source, besides the names.
std::vector<storage::FactChange> facts_of_change_over(const partitioning::Database& source, const CopyRecord& ended);
/// Erases the copies that have not ended from the catalog of a backup, as their states are not in it. Returns the tags
/// of their targets, which have nothing of their own.
Expected<std::vector<std::string>> forget_running_copies(storage::Catalog& catalog);
/// Names of the databases that have copies which have not ended, or whose targets are being removed.
Expected<std::vector<std::string>> sources_of_copies(storage::Catalog& catalog);

}  // namespace octavo::query::copy
