#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// What a database does with its documents beyond keeping them. Part of its definition, whichever door wrote that:
///   Cosmos:  {"resource":{"defaultTtl":…,"changeFeedPolicy":{"retentionDuration":minutes},…},
///             "throughput":{"manual":…,"autoscale_max":…,"enforced":true},…}
///   Couch:   {"properties":{"ttl":…,"throughput":…,"all_versions":…}}
/// A value type.
struct DatabaseProperties {
  /// Seconds that documents live unless they say otherwise (`ttl`); -1: for ever. Absent: `ttl` is a field like others.
  std::optional<std::int64_t> ttl_s;
  /// Request units per second that requests may spend, all physical partitions together; 0: as much as they like.
  std::uint32_t throughput = 0;
  /// Seconds that every version of every document is kept for readers of the feed of all versions; 0: there is none.
  std::int64_t all_versions_s = 0;
  /// A container without throughput of its own: it shares that of its Cosmos database, which stands before the `/`.
  bool shares_throughput = false;

  /// Absent or damaged members count as not given: definitions are checked when they are made.
  static DatabaseProperties of(std::string_view definition);
  /// The definition of a database of the Couch door; empty when nothing is set.
  std::string to_couch_definition() const;
  /// The members that are set, as JSON: what stands behind "properties".
  std::string to_json() const;

  bool operator==(const DatabaseProperties&) const = default;
};

/// The throughput that the containers of a Cosmos database share, from what the catalog says of the database; 0: none.
std::uint32_t shared_throughput_of(std::string_view cosmos_database);

/// Whether the Couch door made this definition: then the database is no container.
bool is_couch_definition(std::string_view definition);

}  // namespace octavo::query
