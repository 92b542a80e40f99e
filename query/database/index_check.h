#pragma once

#include "base/task.h"
#include "query/database/database_services.h"
#include "storage/lmdb/check_report.h"

namespace octavo::query {

/// Compares every complete index of a database with the entries that its documents should have, and adds differences to
/// `report`. Global indexes are first brought up to date with the feed (they may lag after a crash, by design). The
/// database must not be written to meanwhile. O(documents × indexes), constant memory.
Task<Expected<void>> check_indexes(DatabaseServices& services, storage::CheckReport& report);

}  // namespace octavo::query
