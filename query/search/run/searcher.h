#pragma once

#include <memory>

#include "base/error.h"
#include "query/search/analysis/analyzer.h"
#include "query/search/run/columns.h"
#include "query/search/run/index_snapshot.h"
#include "query/search/syntax/search_request.h"

namespace octavo::query::search {

/// Runs one search on one snapshot. May throw what Lucene++ throws, and TimeIsOver.
Expected<SearchResult> run_search(const IndexSnapshotPtr& snapshot, const FieldAnalyzers& analyzers,
                                  ColumnCache& columns, const SearchRequest& request);

}  // namespace octavo::query::search
