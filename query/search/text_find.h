#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "partitioning/database.h"
#include "query/index/feed_indexes.h"
#include "query/planner/find_request.h"
#include "query/search/search_index.h"
#include "query/search/text_index.h"

namespace octavo::query::search {

/// A `_find` that a text index answers. Immutable once planned.
struct TextFind {
  FindRequest request;
  TextIndexDefinitionPtr definition;
  std::shared_ptr<SearchIndex> index;
  TextQuery query;
  std::vector<SortKey> sort;
  std::optional<SearchBookmark> bookmark;

  /// The reply of `_explain`.
  boost::json::object explain(const partitioning::Database& database) const;
};

/// Text indexes among those of a database, in order of design document and name.
std::vector<TextIndexDefinitionPtr> text_indexes_in(const FeedIndexCatalog& catalog);

/// Whether there is one at all. Cheap.
bool has_text_index(const FeedIndexCatalog& catalog);
/// Whether `names` (FindRequest::use_index) is one of them.
bool names_text_index(const FeedIndexCatalog& catalog, const std::vector<std::string>& names);

/// Plans `request` with a text index: the one that `use_index` names, or the first that holds all that is asked for.
/// nullopt: none does. Errors: bad_request for a sort or a bookmark that does not go with it, no_usable_index for
/// `$text` without an index for it.
Expected<std::optional<TextFind>> plan_text_find(const FeedIndexCatalog& catalog, FindRequest request);

/// Runs it, on a worker, once the index has what was written: the whole reply. At most `find_text_limit_max` documents.
/// Errors: timeout at `deadline`, those of the index and the storage.
Expected<std::string> run_text_find(const partitioning::Database& database, const TextFind& find,
                                    storage::Sequence at_least, std::chrono::steady_clock::time_point deadline,
                                    std::chrono::steady_clock::time_point started);

/// As CouchDB's dreyfus/max_limit: more has to be asked for page by page.
inline constexpr std::uint64_t find_text_limit_max = 200;

}  // namespace octavo::query::search
