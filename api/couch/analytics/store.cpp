// /{db}/_analytics: the analytical store of a database, its documents in columns.
#include <chrono>
#include <string>
#include <utility>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "analytics/analytics.h"
#include "api/couch/analytics/database_store.h"
#include "api/couch/analytics/routes.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/call/wait_for.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using analytics::DatabaseAnalytics;

Task<Expected<Reply>> put_store(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  OCTAVO_CO_TRY_VOID(call.services.analytics->require_enabled());
  if (call.database->name().starts_with('_')) {
    co_return fail(ErrorCode::bad_request, "A system database has no analytical store.", "analytics_syntax");
  }
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(auto definition, analytics::Definition::parse(body));
  // Otherwise the readers of the group would lose it.
  if (!definition.group.empty()) {
    OCTAVO_CO_TRY(const auto group, co_await find_group(call, definition.group));
    OCTAVO_CO_TRY_VOID(co_await open_readable_group(call, group.key));
    definition.enter_group(group.name, group.key);
  }
  auto define = [&] { return store->define(std::move(definition)); };
  OCTAVO_CO_TRY_VOID(co_await call.services.analytics->workers().run_blocking(std::move(define)));
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> delete_store(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  auto remove = [store] { return store->remove(); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(remove)));
  co_return json_reply(json::object{{"ok", true}});
}

/// What is only known to the process is null while it cannot be asked.
Expected<json::object> shown(const Call& call, DatabaseAnalytics& store) {
  const auto view = store.view();
  if (!view) {
    return fail(ErrorCode::not_found, "The database has no analytical store: PUT /{db}/_analytics makes one.");
  }
  json::object object{{"state", view->state},
                      {"reason", view->failure ? json::value(reason_of(*view->failure)) : json::value()},
                      {"definition", view->definition.json},
                      {"sequence", view->sequence},
                      {"lag", view->behind},
                      {"rows", nullptr},
                      {"rows_deleted", nullptr},
                      {"columns", nullptr}};
  if (view->building) {
    object["building"] = json::object{
        {"definition", view->building->definition},
        {"reason", view->building->failure ? json::value(reason_of(*view->building->failure)) : json::value()},
        {"sequence", view->building->sequence},
        {"lag", view->building->behind}};
  }
  if (!call.services.analytics->enabled()) return object;
  auto known = call.services.analytics->table_status(view->place);
  if (known) {
    object["rows"] = known->at("rows");
    object["rows_deleted"] = known->at("rows_deleted");
    object["columns"] = known->at("columns");
    if (const auto* const tables = known->if_contains("tables")) object["tables"] = *tables;
  } else if (!view->failure && known.error().code != ErrorCode::not_found) {
    object["reason"] = reason_of(known.error());
  }
  return object;
}

Task<Expected<Reply>> get_store(Call& call) {
  OCTAVO_CO_TRY(auto* const store, store_of(call));
  if (call.request.parameter("wait_for")) OCTAVO_CO_TRY_VOID(call.services.analytics->require_enabled());
  OCTAVO_CO_TRY(const auto wanted, read_wait_for(call, true));
  if (wanted) {
    auto reached = co_await store->wait(wanted->sequence, wanted->built, wanted->deadline());
    OCTAVO_CO_TRY_VOID(wanted->told(std::move(reached), "The table is"));
  }
  auto show = [&] { return shown(call, *store); };
  const bool enabled = call.services.analytics->enabled();
  Workers& workers = enabled ? call.services.analytics->workers() : call.services.engine.workers();
  OCTAVO_CO_TRY(auto object, co_await workers.run_blocking(std::move(show)));
  co_return json_reply(std::move(object));
}

}  // namespace

void add_analytics_store_routes(RouteList& routes) {
  routes.push_back({Method::get, "/{db}/_analytics", Access::database_member, get_store});
  routes.push_back({Method::put, "/{db}/_analytics", Access::database_admin, put_store});
  routes.push_back({Method::del, "/{db}/_analytics", Access::database_admin, delete_store});
}

}  // namespace octavo::api::couch
