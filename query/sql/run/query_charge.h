#pragma once

#include <cstddef>
#include <vector>

#include "partitioning/database.h"
#include "partitioning/throughput/request_charge.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::query::sql {

/// The work of one page of a query, for its charge. `statistics`: those of the page.
partitioning::ScanWork scan_work_of(const partitioning::Database& database, const PreparedSql& prepared,
                                    const SqlStatistics& statistics);

/// Whether a page of the query may end in one of several physical partitions without having read the others: it has
/// neither an order nor results that wait for all rows. `scope`: what is queried, which is the prepared scope or a
/// logical partition in it.
bool may_read_in_turn(const PreparedSql& prepared, const SqlScope& scope);

/// The physical partitions that such a query reads, one after the other; empty: it reads all of its scope at once.
std::vector<std::size_t> partition_ids_in_turn(const partitioning::Database& database, const PreparedSql& prepared,
                                               const SqlScope& scope);

}  // namespace octavo::query::sql
