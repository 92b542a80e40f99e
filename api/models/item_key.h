#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/http/request.h"
#include "api/models/container_definition.h"
#include "partitioning/keys/typed_key.h"

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

}  // namespace octavo::api::cosmos
