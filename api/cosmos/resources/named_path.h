#pragma once

#include "api/cosmos/call/resource_path.h"
#include "api/cosmos/resources/registry.h"
#include "partitioning/engine.h"

namespace octavo::api::cosmos {

/// Replaces resource ids (`_rid`) in the path by names: of the database, the container, the user and the permission. A
/// name that looks like a resource id is preferred, and an id that nothing has stays, so that the request is answered
/// 404. Waits for the disk: call it through Workers::run_blocking.
Expected<void> name_resources(partitioning::Engine& engine, const Registry& registry, ResourcePath& path);

}  // namespace octavo::api::cosmos
