#pragma once

#include "base/error.h"
#include "storage/catalog.h"

namespace octavo::query {

/// Changes the catalog of a backup, which has the documents of all databases but not what follows them: projections
/// begin again with the rows that they find; copies that have not ended are left out, and so are their targets.
Expected<void> prepare_backup(storage::Catalog& catalog);

}  // namespace octavo::query
