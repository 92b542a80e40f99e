#pragma once

#include "api/cosmos/call/call.h"

/// Each function serves one kind of resource, and answers 405 to methods that the resource does not have.
namespace octavo::api::cosmos {

Handled serve_account(Call& call);     ///< account.cpp: GET /
Handled serve_databases(Call& call);   ///< databases.cpp: /dbs, /dbs/{db}
Handled serve_containers(Call& call);  ///< containers.cpp: /dbs/{db}/colls, …/{coll}
Handled serve_ranges(Call& call);      ///< ranges.cpp: …/pkranges
Handled serve_offers(Call& call);      ///< offers.cpp: /offers, /offers/{id}
Handled serve_users(Call& call);       ///< users.cpp: /dbs/{db}/users/…/permissions/…, …/clientencryptionkeys/…

}  // namespace octavo::api::cosmos
