#include "api/couch/analytics/database_store.h"

#include "query/database/database_services.h"

namespace octavo::api::couch {

Expected<analytics::DatabaseAnalytics*> store_of(const Call& call) {
  OCTAVO_TRY(auto* const services, query::required(call.database_services()));
  auto* const found = analytics::Analytics::of(services->attachment());
  if (found == nullptr || call.services.analytics == nullptr) {
    return fail(ErrorCode::internal, "The engine was opened without analytics.");
  }
  return found;
}

}  // namespace octavo::api::couch
