#pragma once

#include <memory>

#include "api/cosmos/container_definition.h"
#include "api/cosmos/item_operation.h"
#include "partitioning/database.h"

namespace octavo::api::cosmos {

/// Whether the item of `operation` meets its patch's condition now; then the operation is bound to the revision that
/// met it. Errors: precondition_failed, not_found, bad_request for a condition that is none.
Task<Expected<void>> check_patch_condition(std::shared_ptr<partitioning::Database> database,
                                           const ContainerDefinition& container, ItemOperation& operation);

}  // namespace octavo::api::cosmos
