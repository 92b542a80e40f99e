#pragma once

#include <cstddef>
#include <string_view>

#include "base/error.h"
#include "partitioning/throughput/limit_report.h"

namespace octavo::partitioning {

class Database;

/// The use of one logical partition. Errors: those of reading.
Expected<PartitionUse> limits_of_partition(Database& database, std::string_view partition_key);

/// The use of one physical partition. May wait for the disk. Errors: those of reading.
Expected<PartitionUse> limits_of_physical_partition(Database& database, std::size_t partition_id);

/// All physical partitions, and of each the logical partitions that are large (LargePartitions) or spend much
/// (HotKeys), up to 32 of either kind. Reads a row for each of them; the first call after the database was opened may
/// read the sizes of all logical partitions: not for I/O threads. Errors: those of reading.
Expected<LimitReport> limits_of(Database& database);

}  // namespace octavo::partitioning
