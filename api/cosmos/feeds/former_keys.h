#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "api/cosmos/call/call.h"
#include "api/models/item.h"
#include "base/jobs/turns.h"

/// Requests of clients that still send the partition key which a container had before a change-over, while its grace
/// lasts (api/models/item_key.h). A key in a header means the present one if that leads to something. Requests with a
/// resource token are not translated: the token may cover one partition key.
///
/// Items are found by a query for `id` and the former key, whose charge is added to that of the request.
namespace octavo::api::cosmos {

/// Whether keys may be the former one.
bool knows_former_key(const Call& call, const OpenContainer& opened);
/// The same for a request that has a key in its header.
bool has_former_key(const Call& call, const OpenContainer& opened);

/// What a key leads to, with the id of an item beside it.
struct NamedKey {
  enum class Leads : std::uint8_t { nowhere, to_present, to_former };
  Leads leads = Leads::nowhere;
  partitioning::TypedKey key;  ///< the item's present one, unless it leads nowhere
};

/// For an operation on an item, which must exist, by its id and this key (JSON). Error bad_request
/// (partition_key_mismatch): several items have the id and the former key.
Task<Expected<NamedKey>> find_by_key(Call& call, const OpenContainer& opened, std::string_view key_json,
                                     std::string_view id);
/// The same for the key in the header and the id in the path: if it is the former one, the present one is written to
/// Call::present_key.
Task<Expected<void>> find_by_former_key(Call& call, const OpenContainer& opened);

/// What this key (JSON) is to an item that is written: its present key or its former one. Errors: bad_request
/// (partition_key_mismatch): neither.
Expected<NamedKey::Leads> key_of_written(const OpenContainer& opened, std::string_view key_json, const Item& item);
/// For the creation of an item by its former key, or an upsert: that no other item has its id and former key.
/// `creates`: nor itself. Errors: conflict if it creates; bad_request (partition_key_mismatch) if another one has them,
/// which would stay there as a second one.
///
/// What was checked holds for writes by the former key as long as the caller has the turn.
Task<Expected<void>> check_written_key(Call& call, const OpenContainer& opened, const Item& item, bool creates);
/// The name of the item's turn in Database::turns: writes with the same former key and id have the same.
Expected<std::string> turn_of_written(const OpenContainer& opened, const Item& item);
/// Takes the turn, and checks.
Task<Expected<Turns::Turn>> take_written_key(Call& call, const OpenContainer& opened, const Item& item, bool creates);

/// For a request about all items of the key in the header, if it has one. Error bad_request (partition_key_mismatch):
/// there are none, but some that have it as their former key.
Task<Expected<void>> refuse_former_key(Call& call, const OpenContainer& opened);

/// Whether there is a document with this id.
bool is_there(const partitioning::Database& database, std::string_view id);

/// The error of a request by the former key, which names the present one.
std::unexpected<Error> refused_former_key(const OpenContainer& opened, std::string_view why);
void count_former_request(const OpenContainer& opened);

}  // namespace octavo::api::cosmos
