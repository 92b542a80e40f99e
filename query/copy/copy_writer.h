#pragma once

#include <string>
#include <vector>

#include "partitioning/database.h"
#include "storage/partition/document_copy.h"

namespace octavo::query::copy {

/// Deletes these documents of the target, then writes the copies, and returns when all is durable. Blocks: not on a
/// thread that writes or that I/O needs. What is there already does not change. Errors: partition_full,
/// unique_key_violated (the others have been written), those of the disk, not_found, overloaded.
Expected<void> write_copies(partitioning::Database& target, std::vector<storage::DocumentCopy> copies,
                            std::vector<std::string> removed);

}  // namespace octavo::query::copy
