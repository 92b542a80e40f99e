#pragma once

#include "storage/lmdb/check_report.h"
#include "storage/partition/physical_partition.h"

namespace octavo::storage {

/// Verifies one physical partition, reading every row: pages ↔ trees, documents ↔ revision trees ↔ conflicting leaves ↔
/// feed ↔ feeds of logical partitions ↔ counters; and the expiry schedule against `time_to_live`, if there is one.
/// Changes nothing. O(rows); memory O(logical partitions). The pages must be sound (page_check.h). Errors: only if the
/// files cannot be read at all; problems inside go into the report.
Expected<CheckReport> check_partition(const PhysicalPartition& partition, bool partitioned,
                                      const TimeToLive* time_to_live = nullptr);

}  // namespace octavo::storage
