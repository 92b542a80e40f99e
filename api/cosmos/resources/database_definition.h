#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/models/throughput.h"
#include "base/error.h"

namespace octavo::api::cosmos {

/// A database of the Cosmos DB API: a prefix of containers' names, and shared throughput. A value type.
///
/// Format (Cosmos DB database in the catalog):
///   area "cosmos_databases", name id
///   → JSON {"rid","etag","modified_s","offer_rid","offer_etag"} and, if it has throughput, "throughput"
struct DatabaseDefinition {
  std::string id;
  std::string rid;  ///< 4 bytes
  std::string etag;
  std::int64_t modified_s = 0;
  std::optional<Throughput> throughput;
  std::string offer_rid;  ///< `_rid` of its offer, in base64
  std::string offer_etag;

  /// "dbs/<rid>/".
  std::string self_link() const;

  std::string to_stored() const;
  /// Errors: corrupted.
  static Expected<DatabaseDefinition> from_stored(std::string_view id, std::string_view text);

  /// The resource as replies show it.
  std::string to_json() const;
};

}  // namespace octavo::api::cosmos
