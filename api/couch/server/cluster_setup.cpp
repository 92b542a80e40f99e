// /_cluster_setup: what set-up scripts send to a new server. This server is a single node and has its system databases
// from the start, so there is little to set up; unlike CouchDB, it does not refuse to do so again.
// https://docs.couchdb.org/en/stable/api/server/common.html#cluster-setup
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/auth/users_database.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/json_request.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/server/server.h"

namespace octavo::api::couch {

namespace {

namespace json = boost::json;
using Names = std::vector<std::string>;

/// `ensure_dbs_exist`. Error bad_request.
Expected<Names> database_names(const json::value* list) {
  if (list == nullptr || list->is_null()) return Names{std::string(users_database), std::string(replicator_database)};
  const auto wrong = [] { return fail(ErrorCode::bad_request, "`ensure_dbs_exist` must be an array of names."); };
  if (!list->is_array()) return wrong();
  Names names;
  for (const json::value& name : list->get_array()) {
    if (!name.is_string()) return wrong();
    names.emplace_back(name.get_string());
  }
  return names;
}

Expected<std::optional<std::string>> setup_text(const json::object& body, std::string_view name) {
  const json::value* value = body.if_contains(name);
  if (value == nullptr || value->is_null()) return std::nullopt;
  if (!value->is_string()) return fail(ErrorCode::bad_request, "`" + std::string(name) + "` must be a string.");
  return std::string(value->get_string());
}

// The address and the port are those that the server listens on. To promise others would lead to a server that cannot
// be reached where it is expected.
Expected<void> check_address(const config::Settings& settings, const json::object& body) {
  OCTAVO_TRY(const auto address, setup_text(body, "bind_address"));
  if (address && *address != settings.bind) {
    return fail(ErrorCode::bad_request, "The server listens on " + settings.bind + ", not on " + *address +
                                            ". Set server.bind (OCTAVO_BIND), and restart.");
  }
  const json::value* port = body.if_contains("port");
  if (port == nullptr || port->is_null() || settings.port == 0) return {};
  std::uint64_t number = 0;
  if (port->is_string()) {
    const std::string_view text = port->get_string();
    std::from_chars(text.data(), text.data() + text.size(), number);
  } else if (port->is_number()) {
    number = port->to_number<std::uint64_t>();
  }
  if (number == settings.port) return {};
  return fail(ErrorCode::bad_request, "The server listens on port " + std::to_string(settings.port) +
                                          ". Set server.port (OCTAVO_PORT), and restart.");
}

Expected<void> set_up_admin(Authenticator& authenticator, const json::object& body) {
  OCTAVO_TRY(const auto name, setup_text(body, "username"));
  OCTAVO_TRY(auto password, setup_text(body, "password_hash"));
  if (!password) {
    OCTAVO_TRY(password, setup_text(body, "password"));
  }
  if (name && password) return authenticator.set_admin(*name, *password);
  if (authenticator.has_admins()) return {};
  return fail(ErrorCode::bad_request, "Cluster setup requires admin account to be configured");
}

/// Blocking.
Expected<void> make_databases(partitioning::Engine& engine, const Names& names) {
  for (const std::string& name : names) {
    OCTAVO_TRY_VOID(partitioning::Engine::check_database_name(name));
    auto created = engine.create_database(name, {});
    if (!created && created.error().code != ErrorCode::precondition_failed) {
      return std::unexpected(std::move(created).error());
    }
  }
  return {};
}

/// Blocking.
Expected<void> run_action(Call& call, const json::object& body) {
  OCTAVO_TRY(const auto action, setup_text(body, "action"));
  auto& services = call.services;
  if (action == "enable_single_node") {
    OCTAVO_TRY(const auto names, database_names(body.if_contains("ensure_dbs_exist")));
    OCTAVO_TRY_VOID(check_address(services.settings, body));
    OCTAVO_TRY_VOID(set_up_admin(services.authenticator, body));
    return make_databases(services.engine, names);
  }
  if (action == "finish_cluster") {
    OCTAVO_TRY(const auto names, database_names(body.if_contains("ensure_dbs_exist")));
    return make_databases(services.engine, names);
  }
  if (action == "enable_cluster" || action == "add_node" || action == "remove_node" || action == "receive_cookie") {
    return fail(ErrorCode::bad_request, "This server is a single node and joins no cluster; use enable_single_node.");
  }
  return fail(ErrorCode::bad_request, "Invalid Action'");  // as CouchDB writes it
}

Task<Expected<Reply>> post_cluster_setup(Call& call) {
  OCTAVO_CO_TRY_VOID(require_json_content_type(call.request));
  OCTAVO_CO_TRY(const auto body, co_await read_json_object(call));
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking([&] { return run_action(call, body); }));
  auto reply = json_reply(json::object{{"ok", true}});
  reply.status = 201;
  co_return reply;
}

Task<Expected<Reply>> get_cluster_setup(Call& call) {
  json::value wanted;
  if (const auto text = call.request.parameter("ensure_dbs_exist")) {
    boost::system::error_code error;
    wanted = json::parse(*text, error);
    if (error) co_return fail(ErrorCode::bad_request, "invalid UTF-8 JSON: ensure_dbs_exist");
  }
  OCTAVO_CO_TRY(const auto names, database_names(&wanted));
  bool enabled = call.services.authenticator.has_admins();
  for (const std::string& name : names) enabled = enabled && call.services.engine.databases().contains(name);
  co_return json_reply(json::object{{"state", enabled ? "single_node_enabled" : "single_node_disabled"}});
}

}  // namespace

void add_cluster_setup_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_cluster_setup", Access::server_admin, get_cluster_setup});
  routes.push_back({Method::post, "/_cluster_setup", Access::server_admin, post_cluster_setup});
}

}  // namespace octavo::api::couch
