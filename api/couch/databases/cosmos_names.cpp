// `/_cosmos/{database}`: which names lead to a database of the Azure Cosmos DB API, with all its containers. An
// extension of the CouchDB API.
#include <utility>

#include <boost/json.hpp>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/names.h"
#include "api/couch/databases/routes.h"
#include "api/models/cosmos_databases.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

Expected<cosmos::CosmosDatabases*> databases_of(const Call& call) {
  if (call.services.cosmos_databases != nullptr) return call.services.cosmos_databases;
  return fail(ErrorCode::unsupported, "This server has no containers.");
}

Task<Expected<Reply>> rename_cosmos_database(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto wanted, RenameRequest::parse(body));
  OCTAVO_CO_TRY(auto* databases, databases_of(call));
  auto work = [&] { return databases->rename_database(call.path("database"), wanted.name, wanted.keeps_alias); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return json_reply(json::object{{"ok", true}, {"name", wanted.name}});
}

Task<Expected<Reply>> get_cosmos_aliases(Call& call) {
  OCTAVO_CO_TRY(auto* databases, databases_of(call));
  auto work = [&] { return databases->names_of(call.path("database")); };
  OCTAVO_CO_TRY(const auto names, co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return json_reply(json::object{{"name", names.id}, {"aliases", json::value_from(names.aliases)}});
}

Task<Expected<Reply>> put_cosmos_alias(Call& call) {
  OCTAVO_CO_TRY(auto* databases, databases_of(call));
  auto work = [&] { return databases->add_alias(call.path("database"), call.path("alias")); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  auto reply = json_reply(json::object{{"ok", true}});
  reply.status = 201;
  co_return reply;
}

Task<Expected<Reply>> delete_cosmos_alias(Call& call) {
  OCTAVO_CO_TRY(auto* databases, databases_of(call));
  auto work = [&] { return databases->remove_alias(call.path("database"), call.path("alias")); };
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(std::move(work)));
  co_return json_reply(json::object{{"ok", true}});
}

}  // namespace

void add_cosmos_name_routes(RouteList& routes) {
  routes.push_back({Method::post, "/_cosmos/{database}/_rename", Access::server_admin, rename_cosmos_database});
  routes.push_back({Method::get, "/_cosmos/{database}/_aliases", Access::server_admin, get_cosmos_aliases});
  routes.push_back({Method::put, "/_cosmos/{database}/_aliases/{alias}", Access::server_admin, put_cosmos_alias});
  routes.push_back({Method::del, "/_cosmos/{database}/_aliases/{alias}", Access::server_admin, delete_cosmos_alias});
}

}  // namespace octavo::api::couch
