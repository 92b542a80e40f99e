#include <algorithm>
#include <array>

#include <boost/json.hpp>

#include "api/couch/auth/authenticator.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/call/query_parameters.h"
#include "api/couch/server/couch_settings.h"
#include "api/couch/server/server.h"
#include "api/couch/server/server_config.h"
#include "partitioning/engine.h"

// Changes of settings while the server runs. A change without effect is an error: CouchDB stores whatever it is sent.

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::size_t value_bytes_max = 64 << 10;

// CouchDB's BLACKLIST_CONFIG_SECTIONS.
constexpr std::array<std::string_view, 9> closed_sections{"daemons",
                                                          "external",
                                                          "httpd_design_handlers",
                                                          "httpd_db_handlers",
                                                          "httpd_global_handlers",
                                                          "native_query_servers",
                                                          "os_daemons",
                                                          "query_servers",
                                                          "feature_flags"};

Expected<void> check_section(std::string_view section) {
  if (std::ranges::find(closed_sections, section) == closed_sections.end()) return {};
  return fail(ErrorCode::forbidden, "Config section blacklisted for modification over HTTP API.");
}

Expected<void> check_persist(const Request& request) {
  if (request.header("X-Couch-Persist") != "false") return {};
  return fail(ErrorCode::unsupported,
              "A change of the configuration is always kept: X-Couch-Persist must not be false.");
}

/// The value of a PUT: a JSON string, without surrounding blanks.
Expected<std::string> read_value(const Request& request) {
  if (request.body.size() > value_bytes_max) return fail(ErrorCode::bad_request, "A value may have at most 64 KiB.");
  OCTAVO_TRY(const json::value body, json_body(request));
  if (!body.is_string()) return fail(ErrorCode::bad_request, "a JSON string expected");
  std::string_view text = body.get_string();
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

std::unexpected<Error> cannot_change(std::string_view section, std::string_view key) {
  std::string name(section);
  if (!key.empty()) name.append("/").append(key);
  const auto table = config::find_setting(section, "");
  if (table != nullptr) {
    return fail(ErrorCode::forbidden,
                name + " is read when the server starts. Set it in the section [" + std::string(section) +
                    "] of the configuration file, and restart.",
                "modification_not_allowed");
  }
  return fail(
      ErrorCode::forbidden,
      name + " cannot be changed: there is no such setting. GET /_node/_local/_config lists those that there are.",
      "modification_not_allowed");
}

std::unexpected<Error> cannot_change_fixed(std::string_view section, std::string_view key) {
  return fail(ErrorCode::forbidden,
              std::string(section) + "/" + std::string(key) +
                  " is the same for all servers, or chosen by the server "
                  "itself, and cannot be changed.",
              "modification_not_allowed");
}

bool is_fixed(std::string_view section, std::string_view key) {
  return fixed_couch_value(section, key).has_value() || (section == "couchdb" && key == "uuid");
}

/// Blocking. A value that is in effect already is no change, so anything may be "set" to what it is.
Expected<void> change_value(Call& call, const std::string& section, const std::string& key, const std::string& value,
                            const std::optional<std::string>& before) {
  if (section == admins_section) return call.services.authenticator.set_admin(key, value);
  const auto named = find_named_setting(section, key);
  const bool is_secret = named && named->setting->secret;
  if (!is_secret && value == before && !(named && named->setting->at_run_time)) return {};
  if (is_fixed(section, key)) return cannot_change_fixed(section, key);
  if (!named) return cannot_change(section, key);
  return call.services.engine.runtime_settings().set(*named->setting, named->octavo_text(value));
}

/// Blocking. False: there is nothing to delete.
Expected<bool> delete_value(Call& call, const std::string& section, const std::string& key) {
  if (section == admins_section) return call.services.authenticator.remove_admin(key);
  if (is_fixed(section, key)) return cannot_change_fixed(section, key);
  const auto named = find_named_setting(section, key);
  if (!named) return false;
  return call.services.engine.runtime_settings().erase(*named->setting);
}

Task<Expected<Reply>> put_config_key(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  const std::string& section = call.path("section");
  const std::string& key = call.path("key");
  OCTAVO_CO_TRY_VOID(check_section(section));
  OCTAVO_CO_TRY_VOID(check_persist(call.request));
  OCTAVO_CO_TRY(const auto value, read_value(call.request));
  OCTAVO_CO_TRY(const auto before, config_value(call, section, key));
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(
      [&] { return change_value(call, section, key, value, before); }));
  co_return json_reply(json::value(before.value_or("")));
}

Task<Expected<Reply>> delete_config_key(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  const std::string& section = call.path("section");
  const std::string& key = call.path("key");
  OCTAVO_CO_TRY_VOID(check_section(section));
  OCTAVO_CO_TRY_VOID(check_persist(call.request));
  OCTAVO_CO_TRY(const auto before, config_value(call, section, key));
  OCTAVO_CO_TRY(const bool deleted,
                co_await call.services.engine.workers().run_blocking([&] { return delete_value(call, section, key); }));
  if (!deleted || !before) co_return fail(ErrorCode::not_found, "unknown_config_value");
  co_return json_reply(json::value(*before));
}

Task<Expected<Reply>> reload_config(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  OCTAVO_CO_TRY_VOID(co_await call.services.engine.workers().run_blocking(
      [&] { return call.services.engine.runtime_settings().reload(); }));
  co_return json_reply(json::object{{"ok", true}});
}

}  // namespace

void add_config_change_routes(RouteList& routes) {
  routes.push_back({Method::post, "/_node/{node}/_config/_reload", Access::server_admin, reload_config});
  routes.push_back({Method::put, "/_node/{node}/_config/{section}/{key}", Access::server_admin, put_config_key});
  routes.push_back({Method::del, "/_node/{node}/_config/{section}/{key}", Access::server_admin, delete_config_key});
}

}  // namespace octavo::api::couch
