#pragma once

#include <string>
#include <vector>

#include "partitioning/database.h"
#include "storage/partition/document_copy.h"

namespace octavo::query::project {

inline constexpr std::size_t shown_id_bytes_max = 200;  ///< of an id in a message

/// Deletes these documents of the target, then writes the copies, and returns when all is durable. Blocks: not on a
/// thread that writes or that I/O needs. What is there already does not change. Errors: partition_full,
/// unique_key_violated (the others have been written), those of the disk, not_found, overloaded.
Expected<void> write_copies(partitioning::Database& target, std::vector<storage::DocumentCopy> copies,
                            std::vector<std::string> removed);

}  // namespace octavo::query::project
