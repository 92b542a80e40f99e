#pragma once

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

/// Whether a replacement in this request may give its item another id. Errors: forbidden for a resource token, which
/// may reach this one item only; bad_request while the container's former key is accepted, as the pair of a former key
/// and an id may lead to one item only.
Expected<void> check_other_id(const Call& call, const OpenContainer& opened);

}  // namespace octavo::api::cosmos
