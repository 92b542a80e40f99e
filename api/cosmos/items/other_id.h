#pragma once

#include <optional>
#include <string>

#include "api/cosmos/call/call.h"
#include "api/models/item.h"
#include "base/jobs/turns.h"

/// Replacements that give their item another id.
namespace octavo::api::cosmos {

/// Whether the request may write an item with this id in place of the one that its path names. Error forbidden: its
/// resource token does not cover that item.
Expected<void> check_other_id(const Call& call, const std::string& id);

/// For a request that names the item by the former key of its container (Call::present_key): that no other item has the
/// former key of `item` and its id, as long as the caller has the turn. Otherwise it does nothing. Errors: conflict;
/// bad_request (partition_key_mismatch) if the former key of `item` is not that of the request, since it has the id as
/// a part, or the request changes it.
Task<Expected<std::optional<Turns::Turn>>> hold_other_id(Call& call, const OpenContainer& opened, const Item& item);

}  // namespace octavo::api::cosmos
