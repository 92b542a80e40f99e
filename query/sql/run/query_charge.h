#pragma once

#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::query::sql {

/// The work of one page of a query, for its charge. `statistics`: those of the page.
partitioning::ScanWork scan_work_of(const partitioning::Database& database, const PreparedSql& prepared,
                                    const SqlStatistics& statistics);

}  // namespace octavo::query::sql
