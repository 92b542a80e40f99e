#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "api/cosmos/call/call.h"
#include "api/cosmos/items/item_operation.h"

namespace octavo::api::cosmos {

/// A batch as requested.
struct Batch {
  bool atomic = false;
  bool continues_on_error = true;
  bool in_hybrid_row = false;                 ///< its body, and so its reply; otherwise JSON
  std::optional<partitioning::TypedKey> key;  ///< of all operations, when atomic
  std::size_t partition_id = 0;               ///< physical partition of all operations, when not atomic
  std::vector<ItemOperation> operations;
};

/// Errors: bad_request, too_large, partition_split for a range that does not exist. An error in one operation is kept
/// in the operation.
Expected<Batch> parse_batch(const Call& call, const OpenContainer& opened);

}  // namespace octavo::api::cosmos
