#pragma once

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

Handled serve_query(Call& call);  ///< POST …/docs that is_query, and query plans

}  // namespace octavo::api::cosmos
