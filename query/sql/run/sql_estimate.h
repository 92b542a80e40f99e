#pragma once

#include <cstdint>

#include "query/plan/charge_estimate.h"
#include "query/sql/run/sql_preparation.h"

namespace octavo::query::sql {

/// What a page of at most `page_items_max` results would read and cost, from the beginning. `partition_key`: the
/// logical partition that is queried; empty: the whole scope. See query::estimate_charge.
Expected<ChargeEstimate> estimate_charge(partitioning::Database& database, const PreparedSql& prepared,
                                         const std::string& partition_key, std::uint64_t page_items_max);

}  // namespace octavo::query::sql
