// IBM Cloudant's endpoints about an account: API keys, permissions of databases, CORS, counts.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/security.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/call/errors.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/cloudant/routes.h"
#include "api/couch/documents/save.h"
#include "base/digest.h"
#include "base/encoding.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

Task<Expected<void>> open_database(Call& call, std::string_view name) {
  auto& engine = call.services.engine;
  auto found = engine.databases().find(name);
  if (!found) found = co_await engine.open_in_background(name);
  OCTAVO_CO_TRY(call.database, *std::move(found));
  co_return Expected<void>{};
}

/// Opens the database that the path names, if the user has this access to it.
Task<Expected<void>> open_named_database(Call& call, Access access) {
  OCTAVO_CO_TRY_VOID(co_await open_database(call, call.path("name")));
  co_return check_access(access, call.user, call.database.get(), call.services.authenticator.has_admins());
}

Task<Expected<Reply>> get_permissions(Call& call) {
  OCTAVO_CO_TRY_VOID(co_await open_named_database(call, Access::database_member));
  co_return co_await get_security(call);
}

Task<Expected<Reply>> put_permissions(Call& call) {
  OCTAVO_CO_TRY_VOID(co_await open_named_database(call, Access::database_admin));
  co_return co_await put_security(call);
}

/// An API key is a user without roles, whom `_security` gives permissions.
Task<Expected<Reply>> post_api_key(Call& call) {
  constexpr std::size_t name_bytes = 12;
  constexpr std::size_t password_bytes = 20;
  const std::string key = "apikey-" + crypto::hex_encode(crypto::random_bytes(name_bytes));
  const std::string password = crypto::hex_encode(crypto::random_bytes(password_bytes));
  const std::string id = std::string(user_id_prefix) + key;
  OCTAVO_CO_TRY_VOID(co_await open_database(call, users_database));
  storage::DocumentWrite write;
  write.id = id;
  write.body = json::serialize(json::object{{"name", std::string_view(key)},
                                            {"type", "user"},
                                            {"roles", json::array()},
                                            {"password", std::string_view(password)}});
  OCTAVO_CO_TRY_VOID(co_await save(call, call.database->target_of(id), std::move(write)));
  auto reply =
      json_reply(json::object{{"ok", true}, {"key", std::string_view(key)}, {"password", std::string_view(password)}});
  reply.status = 201;
  co_return reply;
}

Task<Expected<Reply>> get_cors(Call& call) {
  const auto& settings = call.services.settings;
  json::array origins;
  for (const std::string& origin : settings.cors_origins) origins.emplace_back(origin);
  co_return json_reply(json::object{{"enable_cors", settings.cors_enabled},
                                    {"allow_credentials", settings.cors_credentials},
                                    {"origins", std::move(origins)}});
}

struct CorsChange {
  std::string_view key;  ///< in the section `cors`
  std::string text;
};

/// In the order in which they are made: other origins are answered last.
Expected<std::vector<CorsChange>> read_cors(const Request& request) {
  OCTAVO_TRY(const json::object body, json_object_body(request));
  const auto flag = [&](std::string_view member) -> Expected<std::string> {
    const json::value* value = body.if_contains(member);
    if (value == nullptr) return "true";  // as in Cloudant
    if (value->is_bool()) return value->get_bool() ? "true" : "false";
    return fail(ErrorCode::bad_request, "`" + std::string(member) + "` must be a boolean.");
  };
  std::string origins;
  const json::value* list = body.if_contains("origins");
  const auto is_string = [](const json::value& origin) { return origin.is_string(); };
  if (list == nullptr || !list->is_array() || !std::ranges::all_of(list->get_array(), is_string)) {
    return fail(ErrorCode::bad_request, "`origins` must be an array of strings.");
  }
  for (const json::value& origin : list->get_array()) {
    origins.append(origins.empty() ? "" : ",").append(origin.get_string());
  }
  OCTAVO_TRY(auto credentials, flag("allow_credentials"));
  OCTAVO_TRY(auto enabled, flag("enable_cors"));
  return std::vector<CorsChange>{
      {"origins", std::move(origins)}, {"credentials", std::move(credentials)}, {"enabled", std::move(enabled)}};
}

/// Blocking. All changes are made, or none.
Expected<void> change_cors(Call& call, std::span<const CorsChange> changes) {
  auto& settings = call.services.engine.runtime_settings();
  const config::Draft before = config::draft_of(call.services.settings);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    auto changed = settings.set(*config::find_setting("cors", changes[i].key), changes[i].text);
    if (changed) continue;
    for (const CorsChange& made : changes.first(i)) {
      const config::Setting& setting = *config::find_setting("cors", made.key);
      OCTAVO_TRY_VOID(settings.set(setting, config::text_value(before, setting)));
    }
    return changed;
  }
  return {};
}

Task<Expected<Reply>> put_cors(Call& call) {
  OCTAVO_CO_TRY(const auto changes, read_cors(call.request));
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] { return change_cors(call, changes); }));
  co_return json_reply(json::object{{"ok", true}});
}

Task<Expected<Reply>> get_database_count(Call& call) {
  const std::uint64_t total = call.services.engine.databases().count();
  co_return json_reply(json::object{{"databases", json::object{{"total", total}}}});
}

Task<Expected<Reply>> no_account(Call&) {
  co_return fail(ErrorCode::unsupported,
                 "This server has no account with a capacity or a plan. Throughput can be set for a database: "
                 "PUT /{db}/_properties.");
}

}  // namespace

void add_cloudant_routes(RouteList& routes) {
  constexpr auto admin_access = Access::server_admin;
  routes.push_back({Method::get, "/_api/v2/db/{name}/_security", Access::anyone, get_permissions});
  routes.push_back({Method::put, "/_api/v2/db/{name}/_security", Access::anyone, put_permissions});
  routes.push_back({Method::post, "/_api/v2/api_keys", admin_access, post_api_key});
  routes.push_back({Method::get, "/_api/v2/user/config/cors", admin_access, get_cors});
  routes.push_back({Method::put, "/_api/v2/user/config/cors", admin_access, put_cors});
  routes.push_back({Method::get, "/_api/v2/user/current/databases", admin_access, get_database_count});
  routes.push_back({Method::get, "/_api/v2/user/current/throughput", admin_access, no_account});
  routes.push_back({Method::get, "/_api/v2/user/capacity/databases", admin_access, no_account});
  routes.push_back({Method::get, "/_api/v2/user/capacity/throughput", admin_access, no_account});
  routes.push_back({Method::put, "/_api/v2/user/capacity/throughput", admin_access, no_account});
  routes.push_back({Method::get, "/_api/v2/user/activity_tracker/events", admin_access, no_account});
  routes.push_back({Method::post, "/_api/v2/user/activity_tracker/events", admin_access, no_account});
}

}  // namespace octavo::api::couch
