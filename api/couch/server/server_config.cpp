#include <boost/json.hpp>

#include "api/couch/call/errors.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/server/server.h"
#include "config/setting_table.h"

// The effective settings in the form of CouchDB's configuration: sections of keys, with text values only.

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

constexpr std::string_view masked = "*****";

/// A value as CouchDB would show it: without TOML's quotes.
std::string plain(std::string_view toml) {
  if (toml.size() >= 2 && (toml.front() == '"' || toml.front() == '\'') && toml.back() == toml.front()) {
    return std::string(toml.substr(1, toml.size() - 2));
  }
  return std::string(toml);
}

config::Draft draft_of(const config::Settings& settings) {
  config::Draft draft;
  static_cast<config::Settings&>(draft) = settings;
  return draft;
}

void add_table(json::object& section, const config::Draft& draft, const config::Setting& setting) {
  const auto* member = std::get_if<std::map<std::string, std::string> config::Draft::*>(&setting.member);
  if (member == nullptr) return;
  for (const auto& [name, value] : draft.*(*member)) {
    section[name] = setting.secret ? masked : std::string_view(value);
  }
}

/// All sections, with secrets masked. Settings that only set the value of another setting are omitted.
json::object sections(const config::Settings& settings) {
  const config::Draft draft = draft_of(settings);
  json::object all;
  for (const config::Setting& setting : config::setting_table()) {
    if (!setting.in_file) continue;
    json::value& value = all[setting.section];
    if (!value.is_object()) value = json::object();
    json::object& section = value.get_object();
    if (setting.type == config::ValueType::table) {
      add_table(section, draft, setting);
    } else {
      const std::string text = plain(config::toml_value(draft, setting));
      section[setting.key] = setting.secret && !text.empty() ? masked : std::string_view(text);
    }
  }
  return all;
}

Task<Expected<Reply>> get_config(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  co_return json_reply(sections(call.services.settings));
}

Task<Expected<Reply>> get_config_section(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  const json::object all = sections(call.services.settings);
  const json::value* section = all.if_contains(call.path("section"));
  co_return json_reply(section == nullptr ? json::value(json::object()) : *section);
}

Task<Expected<Reply>> get_config_key(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  const json::object all = sections(call.services.settings);
  const json::value* section = all.if_contains(call.path("section"));
  const json::value* value = section == nullptr ? nullptr : section->get_object().if_contains(call.path("key"));
  if (value == nullptr) co_return fail(ErrorCode::not_found, "unknown_config_value");
  co_return json_reply(*value);
}

/// Explains how to change the setting that the client tried to change.
std::string how_to_set(std::string_view section, std::string_view key) {
  for (const config::Setting& setting : config::setting_table()) {
    if (setting.section != section || (setting.key != key && setting.type != config::ValueType::table)) continue;
    std::string text =
        "Settings are read-only while the server runs. Set `" + setting.toml_name() + "` in the configuration file";
    if (setting.type == config::ValueType::table) return text + " and restart.";
    return text + ", " + setting.environment_variable() + " in the environment or " + setting.flag() +
           " on the command line, and restart.";
  }
  return "Settings are read-only while the server runs, and there is none of this name; "
         "`octavo serve --help` lists them.";
}

Task<Expected<Reply>> refuse_change(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  co_return error_reply(403, "modification_not_allowed", how_to_set(call.path("section"), call.path("key")));
}

Task<Expected<Reply>> refuse_reload(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  co_return error_reply(403, "modification_not_allowed",
                        "Settings are read when the server starts; restart it to read them again.");
}

}  // namespace

void add_server_config_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_node/{node}/_config", Access::server_admin, get_config});
  routes.push_back({Method::post, "/_node/{node}/_config/_reload", Access::server_admin, refuse_reload});
  routes.push_back({Method::get, "/_node/{node}/_config/{section}", Access::server_admin, get_config_section});
  routes.push_back({Method::get, "/_node/{node}/_config/{section}/{key}", Access::server_admin, get_config_key});
  routes.push_back({Method::put, "/_node/{node}/_config/{section}/{key}", Access::server_admin, refuse_change});
  routes.push_back({Method::del, "/_node/{node}/_config/{section}/{key}", Access::server_admin, refuse_change});
}

}  // namespace octavo::api::couch
