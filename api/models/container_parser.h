#pragma once

#include "api/models/container_definition.h"
#include "base/error.h"

/// Reads the members of a container as a client sends it. Errors: bad_request, naming the property.
namespace octavo::api::cosmos {

/// Derives the members of `definition` from its `resource`, except `computed`, and completes the resource with Cosmos
/// DB's defaults.
Expected<void> complete_definition(ContainerDefinition& definition);

/// Excludes `_etag` unless the policy names it, as Azure Cosmos DB does. Only for definitions that clients send: the
/// policy of a stored one must not change by itself.
void exclude_etag(ContainerDefinition& definition);
bool excludes_etag(const ContainerDefinition& definition);

/// Azure Cosmos DB ignores `automatic`, and shows whether there is an index. The client for Rust sends false with
/// policies that have one. Only for definitions that clients send, too.
void decide_automatic(ContainerDefinition& definition);

/// Only for definitions that clients send, too: earlier versions stored spatial indexes without a check.
Expected<void> check_spatial_indexes(const ContainerDefinition& definition);

/// Only for a new container. Clients cannot set system properties, and a repeated level adds nothing to the key.
Expected<void> check_key_paths(const ContainerDefinition& definition);

/// Sets `computed`. Stored definitions may have computed properties that are invalid.
Expected<void> read_computed_properties(ContainerDefinition& definition);

}  // namespace octavo::api::cosmos
