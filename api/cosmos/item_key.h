#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/cosmos/container_definition.h"
#include "api/http/request.h"
#include "partitioning/typed_key.h"

namespace octavo::api::cosmos {

/// The key that a client named: the header `x-ms-documentdb-partitionkey`, or a member of a batch's operation:
/// `["a"]`, `[42]`, `[null]`, `[{}]` (nothing at the path), `["a","b"]` for a hierarchy, with fewer values for all that
/// begins so, and `[]` for everything. Errors: bad_request.
Expected<partitioning::TypedKey> parse_key(std::string_view json, const ContainerDefinition& container);

/// Whether it names one logical partition: it has all the values of its container's key.
bool is_complete(const partitioning::TypedKey& key, const ContainerDefinition& container);
std::unexpected<Error> incomplete_key();

/// The one logical partition that a request's header names. Errors: bad_request.
Expected<partitioning::TypedKey> required_key(const Request& request, const ContainerDefinition& container);

/// The key of an item, by what stands at the container's paths in its body (minified JSON). Errors: bad_request.
Expected<partitioning::TypedKey> key_of_item(std::string_view body, const ContainerDefinition& container);

/// Rules for ids of items, with Cosmos DB's words.
Expected<void> check_item_id(std::string_view id);

/// Document id of the item: enc(key):id.
std::string document_id(const partitioning::TypedKey& key, std::string_view id);
/// The item's id: what follows the first `:` of the document's.
std::string_view item_id_of(std::string_view document_id);

}  // namespace octavo::api::cosmos
