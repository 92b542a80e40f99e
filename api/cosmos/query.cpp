// POST of a query, and of a request for its plan.
#include "api/cosmos/call.h"
#include "api/cosmos/errors.h"

namespace octavo::api::cosmos {

Handled serve_query(Call&) {
  co_return fail(ErrorCode::unsupported, "Queries are not available in this version.");
}

}  // namespace octavo::api::cosmos
