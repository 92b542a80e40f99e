#include "api/couch/call/call.h"

#include <algorithm>

#include "base/assert.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

bool UserContext::has_role(std::string_view role) const {
  return std::ranges::find(roles, role) != roles.end();
}

query::DatabaseServices* Call::database_services() const {
  return query::services_of(*database);
}

std::optional<partitioning::DocumentTarget> Call::scope_of(const std::optional<std::string>& partition_key) const {
  OCTAVO_ASSERT(database != nullptr);
  if (!partition_key) return std::nullopt;
  return database->target_of_partition_key(*partition_key);
}

void Call::charge(const partitioning::DocumentTarget& target, double units) {
  OCTAVO_ASSERT(database != nullptr);
  request_charge += units;
  auto& meter = database->meter();
  meter.spend(target, units);
  if (target.id().empty() || !services.settings.advice_record) return;
  using partitioning::PointRequests;
  const bool reads = request.method == Method::get || request.method == Method::head;
  meter.point_requests().note(target.id(), reads ? PointRequests::Kind::read : PointRequests::Kind::write, units);
}

void Call::charge_scan(const std::optional<partitioning::DocumentTarget>& scope, double units) {
  OCTAVO_ASSERT(database != nullptr);
  request_charge += units;
  database->meter().spend_on_scan(scope, units);
}

const std::string& Call::path(std::string_view name) const {
  const auto found = std::ranges::find(path_parameters, name, &std::pair<std::string_view, std::string>::first);
  OCTAVO_ASSERT(found != path_parameters.end());
  return found->second;
}

}  // namespace octavo::api::couch
