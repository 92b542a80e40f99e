#pragma once

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "storage/document.h"

namespace octavo::query {

/// Shows each live design document of `database` once, in the order of their ids. Reads their rows only; on a thread
/// that may take as long as that. Errors: what keeps one from being read.
Expected<void> for_each_design_document(partitioning::Database& database,
                                        FunctionRef<void(const storage::DocumentView&)> visit);

}  // namespace octavo::query
