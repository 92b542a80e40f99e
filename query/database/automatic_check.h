#pragma once

#include "partitioning/database.h"
#include "query/index/catalog/index_catalog.h"
#include "storage/lmdb/check_report.h"

namespace octavo::query {

/// Compares the rows of a database's automatic index with its documents, in both directions. Reads all of both.
/// Errors: those of the storage.
Expected<void> check_automatic_index(partitioning::Database& database, const IndexView& index,
                                     storage::CheckReport& report);

}  // namespace octavo::query
