#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/database.h"
#include "query/follow/feed_indexes.h"
#include "query/mango/find_request.h"
#include "query/mango/text_selector.h"
#include "query/search/search_index.h"
#include "query/search/text_index.h"
#include "query/walk/plan_walk.h"

namespace octavo::query::search {

/// A `_find` request that is answered by a text index. Immutable after planning.
struct TextFind {
  FindRequest request;
  TextIndexDefinitionPtr definition;
  std::shared_ptr<SearchIndex> index;
  TextQuery query;
  std::vector<SortKey> sort;
  std::optional<SearchBookmark> bookmark;
};

/// The text indexes of a database, ordered by design document and name.
std::vector<TextIndexDefinitionPtr> text_indexes_in(const FeedIndexCatalog& catalog);

/// Whether the database has a text index. Cheap.
bool has_text_index(const FeedIndexCatalog& catalog);
/// Whether `names` (FindRequest::use_index) is a text index of the database.
bool names_text_index(const FeedIndexCatalog& catalog, const std::vector<std::string>& names);

/// Plans `request` with a text index: the index in `use_index`, or the first that has all fields of the request.
/// nullopt if no index is usable. Errors: bad_request for a sort or bookmark that the index does not support,
/// no_usable_index for `$text` without an index for it.
Expected<std::optional<TextFind>> plan_text_find(const FeedIndexCatalog& catalog, FindRequest request);

/// What a search returned, beside the documents.
struct TextFindPage {
  SearchBookmark bookmark;    ///< after the last hit that was examined
  WalkStatistics statistics;  ///< without keys: Lucene does not count them
};

/// Runs `find` on a worker, after the index has reached `at_least`, and appends the documents to `out`, separated by
/// commas: at most `find_text_limit_max`. Errors: timeout at `deadline`, those of the index and the storage; `out` may
/// then have some of the documents.
Expected<TextFindPage> run_text_find(const partitioning::Database& database, const TextFind& find,
                                     storage::Sequence at_least, std::chrono::steady_clock::time_point deadline,
                                     std::string& out);

/// The value of CouchDB's dreyfus/max_limit: clients request more results page by page.
inline constexpr std::uint64_t find_text_limit_max = 200;

}  // namespace octavo::query::search
