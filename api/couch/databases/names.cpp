// `_rename` and `_aliases`: which names lead to a database. An extension of the CouchDB API.
#include "api/couch/databases/names.h"

#include <algorithm>

#include <boost/json.hpp>
#include <fmt/format.h>

#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/databases/routes.h"
#include "api/models/database_properties.h"
#include "api/models/resource_id.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

/// Clients need no more, and each is looked at when the server starts.
constexpr std::size_t aliases_max = 100;  // of a database

Expected<void> check_container_name(std::string_view database, std::string_view name) {
  // The part before the slash is its Cosmos DB database, which offers its throughput and its users.
  const std::string_view prefix = database.substr(0, database.find('/') + 1);
  if (!name.starts_with(prefix)) {
    return fail(ErrorCode::bad_request,
                fmt::format("A container stays in its database: its names begin with `{}`.", prefix),
                "illegal_database_name");
  }
  OCTAVO_TRY_VOID(cosmos::check_resource_id(name.substr(prefix.size())));
  if (name.size() <= partitioning::defined_name_bytes_max) return {};
  return fail(ErrorCode::bad_request,
              fmt::format("A name may have at most {} bytes.", partitioning::defined_name_bytes_max),
              "illegal_database_name");
}

Expected<void> refuse_names_of_system_database(const partitioning::Database& database) {
  if (!database.name().starts_with('_')) return {};
  return fail(ErrorCode::bad_request, fmt::format("The system database {} has one name only.", database.name()));
}

Task<Expected<Reply>> rename(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY(const auto wanted, RenameRequest::parse(body));
  auto& database = *call.database;
  OCTAVO_CO_TRY_VOID(refuse_names_of_system_database(database));
  OCTAVO_CO_TRY_VOID(check_further_name(database, wanted.name));
  auto& engine = call.services.engine;
  auto work = [&] { return engine.rename_database(database, wanted.name, wanted.keeps_alias); };
  OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(std::move(work)));
  co_return json_reply(json::object{{"ok", true}, {"name", database.name()}});
}

Task<Expected<Reply>> get_aliases(Call& call) {
  json::array aliases;
  for (auto& alias : call.services.engine.databases().aliases_of(call.database->name())) {
    aliases.emplace_back(std::move(alias));
  }
  co_return json_reply(json::object{{"name", call.database->name()}, {"aliases", std::move(aliases)}});
}

Task<Expected<Reply>> put_alias(Call& call) {
  auto& database = *call.database;
  const auto& alias = call.path("alias");
  OCTAVO_CO_TRY_VOID(refuse_names_of_system_database(database));
  OCTAVO_CO_TRY_VOID(check_further_name(database, alias));
  auto& engine = call.services.engine;
  const auto present = engine.databases().aliases_of(database.name());
  if (present.size() >= aliases_max && std::ranges::find(present, alias) == present.end()) {
    co_return fail(ErrorCode::bad_request, fmt::format("A database has at most {} aliases.", aliases_max));
  }
  auto work = [&] { return engine.add_alias(alias, database); };
  OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(std::move(work)));
  auto reply = json_reply(json::object{{"ok", true}});
  reply.status = 201;
  co_return reply;
}

Task<Expected<Reply>> delete_alias(Call& call) {
  auto& engine = call.services.engine;
  auto work = [&] { return engine.remove_alias(call.path("alias"), *call.database); };
  OCTAVO_CO_TRY_VOID(co_await engine.workers().run_blocking(std::move(work)));
  co_return json_reply(json::object{{"ok", true}});
}

}  // namespace

Expected<RenameRequest> RenameRequest::parse(const json::object& body) {
  RenameRequest wanted;
  for (const auto& [member, value] : body) {
    if (member == "name" && value.is_string()) {
      wanted.name = value.get_string();
    } else if (member == "alias" && value.is_bool()) {
      wanted.keeps_alias = value.get_bool();
    } else {
      return fail(ErrorCode::bad_request,
                  "The body of _rename has the members `name`, a string, and `alias`, true or false.");
    }
  }
  if (wanted.name.empty()) return fail(ErrorCode::bad_request, "`name` must be the new name of the database.");
  return wanted;
}

Expected<void> check_further_name(const partitioning::Database& database, std::string_view name) {
  if (is_container(database.definition()->text)) return check_container_name(database.name(), name);
  OCTAVO_TRY_VOID(partitioning::Engine::check_database_name(name));
  if (!name.starts_with('_')) return {};
  return fail(ErrorCode::bad_request, fmt::format("{} is the name of a system database.", name),
              "illegal_database_name");
}

void add_name_routes(RouteList& routes) {
  routes.push_back({Method::post, "/{db}/_rename", Access::server_admin, rename});
  routes.push_back({Method::get, "/{db}/_aliases", Access::database_member, get_aliases});
  routes.push_back({Method::put, "/{db}/_aliases/{alias}", Access::server_admin, put_alias});
  routes.push_back({Method::del, "/{db}/_aliases/{alias}", Access::server_admin, delete_alias});
}

}  // namespace octavo::api::couch
