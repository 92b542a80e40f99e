#pragma once

#include <cstdint>

#include "partitioning/throughput/request_charge.h"
#include "query/advice/request_recorder.h"
#include "query/sql/run/sql_execution.h"
#include "query/sql/run/sql_preparation.h"

/// What the recorder of requests keeps of a query.
namespace octavo::query::sql {

/// The query without values, for planning. `page_items_max`: limit of a page.
advice::QueryOutline outline_of(const PreparedSql& prepared, std::uint64_t page_items_max);

/// A page that has ended, without its scope and charge. Refers to `prepared`.
advice::RecordedQuery recorded_query(const PreparedSql& prepared, const SqlExecution& execution,
                                     const partitioning::ScanWork& work, std::uint64_t page_items_max);

}  // namespace octavo::query::sql
