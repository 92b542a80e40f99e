#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <boost/json.hpp>

#include "query/index/feed_index_kind.h"
#include "query/search/analyzer.h"

namespace octavo::query::search {

inline constexpr std::string_view search_kind_name = "search";

/// Search indexes among those that follow the feed: `indexes` of design documents.
///
/// content := ('p' | 'g') JSON       p: each search is of one logical partition
///   JSON  := {"index":JavaScript,"analyzer":…} | {"text":definition of a Mango text index,"analyzer":…}
///
/// The identity is of the JSON alone: one index serves partitions and the whole database.
FeedIndexKind search_index_kind();

/// Whether an index of this definition is asked for one partition at a time.
inline bool is_of_partitions(const FeedIndexDefinition& definition) {
  return definition.content.starts_with('p');
}

}  // namespace octavo::query::search
