#pragma once

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

Handled serve_operations(Call& call);  ///< …/operations/partitionkeydelete; 405 to methods other than POST

}  // namespace octavo::api::cosmos
