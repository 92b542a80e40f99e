#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/cosmos/resources/database_definition.h"
#include "api/models/container_definition.h"
#include "api/models/throughput.h"

namespace octavo::api::cosmos {

/// The throughput of a database or a container as a resource of its own. It is stored with its owner.
struct Offer {
  std::string id;  ///< `_rid` in base64
  std::string etag;
  std::string resource_link;  ///< `_self` of the database or container
  std::string resource_rid;   ///< in base64
  std::string database;       ///< ids
  std::string container;      ///< empty: the database's
  Throughput throughput;
  std::int64_t modified_s = 0;
  std::uint64_t stored_bytes = 0;  ///< see Registry::measure, like the next one
  bool replace_pending = false;    ///< physical partitions are being split for the throughput

  /// See lowest_throughput().
  std::uint32_t lowest() const { return lowest_throughput(stored_bytes, throughput.autoscale_max != 0).highest(); }
  /// Both have throughput.
  static Offer of(const DatabaseDefinition& definition);
  static Offer of(std::string_view database, const ContainerDefinition& definition);

  std::string to_json() const;
};

}  // namespace octavo::api::cosmos
