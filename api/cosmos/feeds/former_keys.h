#pragma once

#include <optional>
#include <string_view>

#include "api/cosmos/call/call.h"
#include "api/models/item.h"

/// Requests of clients that still send the partition key which a container had before a change-over, while its grace
/// lasts (api/models/item_key.h). A key in a header means the present one if that leads to something. Requests with a
/// resource token are not translated: the token may cover one partition key.
///
/// Items are found by a query for `id` and the former key, whose charge is added to that of the request.
namespace octavo::api::cosmos {

/// For a request that names an item by its id and key. If there is no item, but one with the former key, its present
/// key is written to Call::present_key. Error bad_request (partition_key_mismatch): there are several.
Task<Expected<void>> find_by_former_key(Call& call, const OpenContainer& opened);

/// For the creation of an item, or an upsert, whose header names a key: whether that is its present one or its former
/// one. `creates`: no item may have its id and former key. Errors: bad_request (partition_key_mismatch): neither, or
/// another item has its id and former key, which would stay there as a second one; conflict if it creates.
Task<Expected<void>> check_written_key(Call& call, const OpenContainer& opened, const Item& item, bool creates);

/// For a request about all items of the key in the header, if it has one. Error bad_request (partition_key_mismatch):
/// there are none, but some that have it as their former key.
Task<Expected<void>> refuse_former_key(Call& call, const OpenContainer& opened);

/// Whether headers may have the former key.
bool has_former_key(const Call& call, const OpenContainer& opened);

}  // namespace octavo::api::cosmos
