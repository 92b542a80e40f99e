#pragma once

#include "bench/cases/cases.h"

/// What MapReduce views cost, and what they give. The cases are listed in cases.cpp.
namespace octavo::bench {

/// Build of a view with one row for each document; its groups and ranges.
void view_queries(Run& run);
/// The same with a hundred rows for each document, beside it: a group must not cost more because there are more rows.
void large_view(Run& run);
/// Durable writes while 0, 1 and 5 views follow them, and a search index.
void view_writes(Run& run);

}  // namespace octavo::bench
