#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/http/request.h"
#include "api/models/container_definition.h"
#include "partitioning/database.h"
#include "partitioning/keys/partition_key.h"
#include "partitioning/keys/typed_key.h"

namespace octavo::api::cosmos {

/// The part of a container that a feed or a query covers: a partition key, all keys with a common prefix (hierarchical
/// keys), a partition key range, part of one, or everything.
struct FeedScope {
  std::string partition_key;               ///< as in document ids; empty: not limited to one
  std::string key_prefix;                  ///< prefix of its document ids; empty: none
  std::size_t key_values = 0;              ///< how many values of the partition key the request names
  std::optional<std::size_t> physical;     ///< one physical partition
  partitioning::EffectiveRange effective;  ///< bounds of the keys

  bool holds(std::string_view document_id, const ContainerDefinition& container) const;
  bool is_bounded() const { return !effective.min.empty() || !effective.max.empty(); }
  /// Whether the bounds divide no position: the keys with one first value of a hierarchy are all in it, or none is.
  bool is_of_whole_positions(const ContainerDefinition& container) const;

  /// Ids of the physical partitions that can contain its documents, in the order of the hash space.
  std::vector<std::size_t> partition_ids(const partitioning::Database& database,
                                         const ContainerDefinition& container) const {
    return partition_ids(database, database.partition_map(), container);
  }
  /// The same for a map that was taken earlier.
  std::vector<std::size_t> partition_ids(const partitioning::Database& database, const partitioning::PartitionMap& map,
                                         const ContainerDefinition& container) const;
  /// No document of a later position is in it.
  partitioning::HashPosition last_position(const ContainerDefinition& container) const;
  /// The same for feeds, because the feed of a split or merged partition gets no more changes: a partition key is
  /// looked up in the current map, even if the request names a range too. Errors: partition_split if only a range is
  /// named and it was split or merged.
  Expected<std::vector<std::size_t>> current_partition_ids(const partitioning::Database& database,
                                                           const ContainerDefinition& container) const;

  /// Reads the headers. Errors: bad_request, also for clients that name a merged range but do not know merges;
  /// partition_split if the range does not exist.
  static Expected<FeedScope> parse(const Request& request, partitioning::Database& database,
                                   const ContainerDefinition& container);
};

/// Partition id in `3` or `<rid>,3`. Errors: partition_split.
Expected<std::size_t> parse_range_id(std::string_view text, const partitioning::Database& database);

/// For one physical partition, or for all of them.
///
/// Format (session token):
///   token := partition id ":-1#" sequence
std::string session_token(std::size_t range, std::uint64_t sequence);

}  // namespace octavo::api::cosmos
