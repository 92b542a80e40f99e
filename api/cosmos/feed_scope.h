#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/cosmos/container_definition.h"
#include "api/http/request.h"
#include "partitioning/database.h"
#include "partitioning/partition_key.h"

namespace octavo::api::cosmos {

/// The part of a container that a feed or a query is asked for: a partition key, all keys that begin alike (hierarchy),
/// a partition key range, part of one, or everything.
struct FeedScope {
  std::string partition_key;            ///< as in document ids; empty: not one
  std::string key_prefix;               ///< ids of its documents begin so; empty: no prefix
  std::optional<std::size_t> physical;  ///< one physical partition
  std::string effective_min;            ///< bytes; with effective_max: only keys in between
  std::string effective_max;            ///< empty: no bound

  bool holds(std::string_view document_id, const ContainerDefinition& container) const;
  bool is_bounded() const { return !effective_min.empty() || !effective_max.empty(); }

  /// Physical partitions in which its documents can be, in the order of the hash space.
  std::vector<std::size_t> places(const partitioning::Database& database, const ContainerDefinition& container) const {
    return places(database, database.partition_map(), container);
  }
  /// As above, in a map that was taken earlier.
  std::vector<std::size_t> places(const partitioning::Database& database, const partitioning::PartitionMap& map,
                                  const ContainerDefinition& container) const;
  /// As the first, for feeds, which stand still in what was split: a partition key has its place wherever it is now,
  /// also beside a partition key range; a range alone is refused (range_gone) when it was split.
  Expected<std::vector<std::size_t>> current_places(const partitioning::Database& database,
                                                    const ContainerDefinition& container) const;

  /// From the headers. Errors: bad_request; range_gone for a range that there is not.
  static Expected<FeedScope> parse(const Request& request, const partitioning::Database& database,
                                   const ContainerDefinition& container);
};

/// Place of the physical partition whose range has this id: `3`, or `<rid>,3`. Errors: range_gone.
Expected<std::size_t> parse_range_id(std::string_view text, const partitioning::Database& database);

/// `range:-1#sequence` for one physical partition, or for all of them.
std::string session_token(std::size_t range, std::uint64_t sequence);

}  // namespace octavo::api::cosmos
