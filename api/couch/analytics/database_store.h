#pragma once

#include "analytics/analytics.h"
#include "api/couch/call/call.h"

namespace octavo::api::couch {

/// What keeps the analytical store of the request's database, whether or not it has one. Lives as long as the database
/// is open. Errors: internal.
Expected<analytics::DatabaseAnalytics*> store_of(const Call& call);

}  // namespace octavo::api::couch
