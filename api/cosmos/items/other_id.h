#pragma once

#include <optional>

#include "api/cosmos/call/call.h"
#include "api/models/item.h"
#include "base/jobs/turns.h"

/// Replacements that give their item another id.
namespace octavo::api::cosmos {

/// Whether a replacement in this request may give its item another id. Error forbidden: it has a resource token, which
/// may reach this one item only.
Expected<void> check_other_id(const Call& call);

/// For a request that names the item by the former key of its container (Call::present_key): that no other item has the
/// former key of `item` and its id, as long as the caller has the turn. Otherwise it does nothing. Errors: conflict;
/// bad_request (partition_key_mismatch) if the former key of `item` is not that of the request, since it has the id as
/// a part, or the request changes it.
Task<Expected<std::optional<Turns::Turn>>> hold_other_id(Call& call, const OpenContainer& opened, const Item& item);

}  // namespace octavo::api::cosmos
