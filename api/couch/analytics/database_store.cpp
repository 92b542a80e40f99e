#include "api/couch/analytics/database_store.h"

#include <utility>

#include <fmt/format.h>

#include "api/couch/auth/authenticator.h"
#include "partitioning/engine.h"
#include "query/database/database_services.h"

namespace octavo::api::couch {

Expected<analytics::DatabaseAnalytics*> store_of(const Call& call, partitioning::Database& database) {
  OCTAVO_TRY(auto* const services, query::required(query::services_of(database)));
  auto* const found = analytics::Analytics::of(services->attachment());
  if (found == nullptr || call.services.analytics == nullptr) {
    return fail(ErrorCode::internal, "The engine was opened without analytics.");
  }
  return found;
}

Expected<analytics::DatabaseAnalytics*> store_of(const Call& call) {
  return store_of(call, *call.database);
}

Task<Expected<std::shared_ptr<partitioning::Database>>> open_readable(Call& call, const std::string& name) {
  auto found = call.services.engine.databases().find(name);
  if (!found) found = co_await call.services.engine.open_in_background(name);
  OCTAVO_CO_TRY(auto database, *std::move(found));
  OCTAVO_CO_TRY_VOID(
      check_access(Access::database_member, call.user, database.get(), call.services.authenticator.has_admins()));
  co_return database;
}

Task<Expected<analytics::Group>> find_group(Call& call, const std::string& name) {
  co_return co_await call.services.engine.workers().run_blocking(
      [&] { return analytics::find_group(call.services.engine, name); });
}

Task<Expected<std::vector<ReadableMember>>> open_readable_group(Call& call, const std::string& key) {
  auto& catalog = call.services.engine.catalog();
  OCTAVO_CO_TRY(auto members, co_await call.services.engine.workers().run_blocking(
                                  [&] { return analytics::members_of_group(catalog, key); }));
  std::vector<ReadableMember> opened;
  for (analytics::GroupMember& member : members) {
    auto database = co_await open_readable(call, member.database);
    if (database) {
      opened.push_back({std::move(member.definition), *std::move(database), std::nullopt});
    } else if (database.error().code == ErrorCode::unauthorized) {
      co_return std::unexpected(std::move(database).error());
    } else if (database.error().code == ErrorCode::forbidden) {
      OCTAVO_CO_TRY(const auto name, co_await call.services.engine.workers().run_blocking(
                                         [&] { return analytics::name_of_group(catalog, key); }));
      co_return fail(ErrorCode::forbidden,
                     fmt::format("Only who may read all databases of the group {} may ask them.", name));
    } else {
      // The others still answer. The process has no table of this one, as nothing feeds it.
      opened.push_back({std::move(member.definition), nullptr, std::move(database).error()});
    }
  }
  co_return opened;
}

}  // namespace octavo::api::couch
