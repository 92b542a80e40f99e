#include "api/cosmos/items/other_id.h"

#include "api/cosmos/call/authorization.h"
#include "api/cosmos/feeds/former_keys.h"

namespace octavo::api::cosmos {

Expected<void> check_other_id(const Call& call, const OpenContainer& opened) {
  if (call.credential == Credential::resource_token) {
    return fail(ErrorCode::forbidden,
                "A resource token does not allow to give an item another id; use an account key.");
  }
  if (knows_former_key(call, opened)) {
    return fail(ErrorCode::bad_request,
                "The id of the item in the body is not the one of the path. An item cannot get another id while the "
                "former partition key of its container is accepted.");
  }
  return {};
}

}  // namespace octavo::api::cosmos
