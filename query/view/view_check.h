#pragma once

#include <string_view>

#include "partitioning/database.h"
#include "query/view/view_group.h"
#include "storage/check_report.h"

namespace octavo::query::views {

/// Compares the rows of a group that is up to date with what its functions emit for each document, the rows with the
/// documents that they are noted at, and the summaries with the rows. What differs is added to `report`, after `label`.
/// For a database that nobody writes to. Runs functions. O(documents + rows).
Expected<void> check_view_group(partitioning::Database& database, ViewGroup& group, std::string_view label,
                                storage::CheckReport& report);

}  // namespace octavo::query::views
