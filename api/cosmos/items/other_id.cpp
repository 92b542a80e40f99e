#include "api/cosmos/items/other_id.h"

#include <utility>

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/feeds/former_keys.h"

namespace octavo::api::cosmos {

Expected<void> check_other_id(const Call& call, const std::string& id) {
  if (call.credential != Credential::resource_token) return {};
  ResourcePath path = call.path;
  path.id = id;
  path.signed_link = path.container_link() + "/docs/" + id;
  OCTAVO_TRY_VOID(call.services.authorization.check(call.request, path, call.reads));
  return {};
}

Task<Expected<std::optional<Turns::Turn>>> hold_other_id(Call& call, const OpenContainer& opened, const Item& item) {
  if (!call.present_key) co_return std::nullopt;
  OCTAVO_CO_TRY(const auto leads, key_of_written(opened, *call.request.header("x-ms-documentdb-partitionkey"), item));
  if (leads != NamedKey::Leads::to_former) co_return std::nullopt;
  OCTAVO_CO_TRY(auto turn, co_await take_written_key(call, opened, item, true));
  co_return std::optional<Turns::Turn>(std::move(turn));
}

}  // namespace octavo::api::cosmos
