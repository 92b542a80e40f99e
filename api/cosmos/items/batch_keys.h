#pragma once

#include <optional>
#include <vector>

#include "api/cosmos/items/batch_request.h"
#include "base/jobs/turns.h"

/// The keys of batches while clients may still know the one that the container had before a change-over
/// (feeds/former_keys.h).
namespace octavo::api::cosmos {

/// The turns of writes by the former key: held until they are committed.
using HeldTurns = std::vector<Turns::Turn>;

/// For an atomic batch whose key may be the former one: fills Batch::key with the present key of its items, and puts
/// errors into the texts of operations that have none. Takes the turns of the items that may be made. Errors:
/// bad_request, also (partition_key_mismatch) if the operations lead to several present keys.
Task<Expected<void>> find_batch_key(Call& call, const OpenContainer& opened, Batch& batch, HeldTurns& turns);

/// Whether an operation of a batch that is not atomic may have the former key. False is certain.
bool may_be_former(const OpenContainer& opened, const Batch& batch);

/// An operation of a batch that is not atomic, with the present key of its item, wherever that leads. Takes the turn of
/// the item if it may be made by its former key.
Task<Expected<ItemOperation>> find_operation(Call& call, const OpenContainer& opened, const Batch& batch,
                                             const Expected<OperationText>& text, HeldTurns& turns);

}  // namespace octavo::api::cosmos
