#pragma once

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "storage/document/document.h"

namespace octavo::query {

/// Calls `visit` once for each design document of `database` that is not deleted, in the order of their ids. Reads only
/// their rows, on the calling thread. Errors: those of reading a document.
Expected<void> for_each_design_document(partitioning::Database& database,
                                        FunctionRef<void(const storage::DocumentView&)> visit);

}  // namespace octavo::query
