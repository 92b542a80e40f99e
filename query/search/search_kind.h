#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "query/follow/feed_index_kind.h"
#include "query/search/analysis/analyzer.h"

namespace octavo::query::search {

inline constexpr std::string_view search_kind_name = "search";

/// The kind of the search indexes among those that follow the feed: `indexes` of design documents.
///
/// Format (content in definition.json of a search index):
///   content := ('p' | 'g') JSON       p: each search is in one logical partition
///   JSON    := {"index":JavaScript,"analyzer":…} | {"text":definition of a Mango text index,"analyzer":…}
///
/// The identity depends on the JSON only: one index serves partitions and the whole database.
FeedIndexKind search_index_kind();

/// Whether each search of an index with this definition is in one partition.
inline bool is_of_partitions(const FeedIndexDefinition& definition) {
  return definition.content.starts_with('p');
}

}  // namespace octavo::query::search
