#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "api/http/request.h"
#include "api/models/container_definition.h"
#include "partitioning/keys/typed_key.h"
#include "storage/catalog.h"

namespace octavo::api::cosmos {

/// Parses the partition key in the header `x-ms-documentdb-partitionkey`, or in an operation of a batch: `["a"]`,
/// `[42]`, `[null]`, `[{}]` (no value at the path), `["a","b"]` for a hierarchical key; fewer values are a prefix, and
/// `[]` is every key. Errors: bad_request.
Expected<partitioning::TypedKey> parse_key(std::string_view json, const ContainerDefinition& container);

/// Whether the key names one logical partition: it has a value for each of the container's paths.
bool is_complete(const partitioning::TypedKey& key, const ContainerDefinition& container);
std::unexpected<Error> incomplete_key();

/// The complete partition key in a request's header; without one, that of items without a key if the container has a
/// system key. Errors: bad_request.
Expected<partitioning::TypedKey> required_key(const Request& request, const ContainerDefinition& container);

/// The partition key in an item's body (minified JSON), at the container's paths. Errors: bad_request.
Expected<partitioning::TypedKey> key_of_item(std::string_view body, const ContainerDefinition& container);

/// Checks an item's id against Cosmos DB's rules.
Expected<void> check_item_id(std::string_view id);

/// Document id of the item: enc(key):id.
std::string document_id(const partitioning::TypedKey& key, std::string_view id);
/// The item's id: the part of the document id after the first `:`.
std::string_view item_id_of(std::string_view document_id);

/// The partition key of the container whose name this one has taken over (query/copy/copies.h): clients that have been
/// running since before send it until they read the container again.
///
/// Format (fact of a container that took over a name):
///   area "of:" tag of the container, name "former_key" → {"partitionKey":{…},"until_s"}
struct FormerKey {
  std::shared_ptr<const ContainerDefinition> container;  ///< with the former paths; no more of it counts
  std::int64_t until_s = 0;                              ///< Unix time at which the grace is over
  /// That were answered by the former key, since the server began, or the container was changed.
  mutable std::atomic<std::uint64_t> requests{0};
};

/// The query::copy::Succession::former_key of containers: nullopt if their keys are the same, or without a grace.
Expected<std::optional<storage::FactChange>> former_key_fact(const partitioning::Database& source,
                                                             const partitioning::Database& successor,
                                                             std::chrono::seconds grace);

/// The former key of a container, read from the catalog when it is first asked for. Thread-safe.
class FormerKeySlot {
 public:
  /// Null if the container has no former key, or its grace is over. Errors: those of the catalog.
  Expected<std::shared_ptr<const FormerKey>> key_of(partitioning::Database& database);

 private:
  enum class State : std::uint8_t { unread, none, some };
  std::atomic<State> state_{State::unread};
  std::mutex mutex_;  ///< guards key_
  std::shared_ptr<const FormerKey> key_;
};

}  // namespace octavo::api::cosmos
