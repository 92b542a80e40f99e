#pragma once

#include "api/cosmos/call/call.h"

namespace octavo::api::cosmos {

/// items.cpp: …/docs, …/docs/{id}; passes on what the other two and queries/query.h serve. Answers 405 to methods that
/// items do not have.
Handled serve_items(Call& call);
Handled serve_batch(Call& call);      ///< batch.cpp: POST …/docs with x-ms-cosmos-is-batch-request
Handled serve_item_list(Call& call);  ///< item_list.cpp: GET …/docs, change feed included

}  // namespace octavo::api::cosmos
