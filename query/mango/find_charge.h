#pragma once

#include "partitioning/database.h"
#include "partitioning/throughput/request_charge.h"
#include "query/mango/prepared_find.h"

namespace octavo::query {

/// What is known of a query's work before it reads, for its charge. `in_partition`: it reads one logical partition.
partitioning::ScanWork scan_work_of(const partitioning::Database& database, const PreparedFind& prepared,
                                    bool in_partition);

}  // namespace octavo::query
