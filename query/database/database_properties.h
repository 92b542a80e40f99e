#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace octavo::query {

/// What a database does with its documents beyond storing them. Part of its definition, for both APIs.
///
/// Format (properties in a database's definition):
///   Cosmos:  {"resource":{"defaultTtl":…,"changeFeedPolicy":{"retentionDuration":minutes},…},
///             "throughput":{"manual":…,"autoscale_max":…,"enforced":true},…}
///   Couch:   {"properties":{"ttl":…,"throughput":…,"all_versions":…}}
///
/// A value type.
struct DatabaseProperties {
  /// Seconds that documents live unless their own `ttl` differs; -1: forever. Absent: `ttl` is an ordinary field.
  std::optional<std::int64_t> ttl_s;
  /// Request units per second for all requests, all physical partitions together; 0: unlimited.
  std::uint32_t throughput = 0;
  /// Seconds that each version of a document is kept for readers of the feed of all versions; 0: versions are not kept.
  std::int64_t all_versions_s = 0;
  /// A container without its own throughput: it shares that of its Cosmos database, whose name precedes the `/`.
  bool shares_throughput = false;

  /// Absent or damaged members count as not given: definitions are checked when they are created.
  static DatabaseProperties of(std::string_view definition);
  /// The definition of a database of the CouchDB API; empty if nothing is set.
  std::string to_couch_definition() const;
  /// The members that are set, as JSON: the value of "properties".
  std::string to_json() const;

  bool operator==(const DatabaseProperties&) const = default;
};

/// The throughput shared by the containers of a Cosmos database, from the database's catalog entry; 0: none.
std::uint32_t shared_throughput_of(std::string_view cosmos_database);

/// Whether the definition was made through the CouchDB API, so that the database is not a container.
bool is_couch_definition(std::string_view definition);

}  // namespace octavo::query
