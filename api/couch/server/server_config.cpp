#include "api/couch/server/server_config.h"

#include <boost/json.hpp>

#include "api/couch/auth/admin_store.h"
#include "api/couch/auth/authenticator.h"
#include "api/couch/call/json_reply.h"
#include "api/couch/server/couch_settings.h"
#include "api/couch/server/server.h"

// The settings in effect in the form of CouchDB's configuration: sections of keys, with text values only. Each setting
// is shown under Octavo's name and under CouchDB's names.

namespace octavo::api::couch {

namespace {

namespace json = boost::json;

std::string shown_value(const NamedSetting& named, const config::Draft& draft) {
  std::string text = named.value(draft);
  return named.setting->secret && !text.empty() ? std::string(masked_secret) : text;
}

json::object& section_of(json::object& all, std::string_view name) {
  json::value& value = all[name];
  if (!value.is_object()) value = json::object();
  return value.get_object();
}

void add_table(json::object& section, const config::Draft& draft, const config::Setting& setting) {
  const auto* member = std::get_if<std::map<std::string, std::string> config::Draft::*>(&setting.member);
  if (member == nullptr) return;
  for (const auto& [name, value] : draft.*(*member)) {
    section[name] = setting.secret ? masked_secret : std::string_view(value);
  }
}

/// All sections, with secrets masked. Settings that only set the value of another setting are omitted.
Expected<json::object> sections(const Call& call) {
  const config::Draft draft = config::draft_of(call.services.settings);
  json::object all;
  for (const config::Setting& setting : config::setting_table()) {
    if (!setting.in_file) continue;
    json::object& section = section_of(all, setting.section);
    if (setting.section == admins_section) continue;
    if (setting.type == config::ValueType::table) {
      add_table(section, draft, setting);
    } else {
      section[setting.key] = shown_value({&setting, CouchForm::text}, draft);
    }
  }
  for (const CouchSetting& named : couch_settings()) {
    const NamedSetting setting{config::find_setting(named.octavo_section, named.octavo_key), named.form};
    section_of(all, named.section)[named.key] = shown_value(setting, draft);
  }
  for (const FixedCouchValue& fixed : fixed_couch_values()) section_of(all, fixed.section)[fixed.key] = fixed.value;
  OCTAVO_TRY(const auto uuid, load_server_uuid(call.services.engine.catalog()));
  section_of(all, "couchdb")["uuid"] = uuid;
  json::object& admins = section_of(all, admins_section);
  for (const std::string& name : call.services.authenticator.admin_names()) admins[name] = masked_secret;
  return all;
}

Task<Expected<Reply>> get_config(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  OCTAVO_CO_TRY(const auto all, sections(call));
  co_return json_reply(all);
}

Task<Expected<Reply>> get_config_section(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  OCTAVO_CO_TRY(const auto all, sections(call));
  const json::value* section = all.if_contains(call.path("section"));
  co_return json_reply(section == nullptr ? json::value(json::object()) : *section);
}

Task<Expected<Reply>> get_config_key(Call& call) {
  OCTAVO_CO_TRY_VOID(check_node(call));
  OCTAVO_CO_TRY(const auto value, config_value(call, call.path("section"), call.path("key")));
  if (!value) co_return fail(ErrorCode::not_found, "unknown_config_value");
  co_return json_reply(json::value(*value));
}

}  // namespace

Expected<std::optional<std::string>> config_value(const Call& call, std::string_view section, std::string_view key) {
  OCTAVO_TRY(const auto all, sections(call));
  const json::value* found = all.if_contains(section);
  const json::value* value = found == nullptr ? nullptr : found->get_object().if_contains(key);
  if (value == nullptr) return std::nullopt;
  return std::string(value->get_string());
}

void add_server_config_routes(RouteList& routes) {
  routes.push_back({Method::get, "/_node/{node}/_config", Access::server_admin, get_config});
  routes.push_back({Method::get, "/_node/{node}/_config/{section}", Access::server_admin, get_config_section});
  routes.push_back({Method::get, "/_node/{node}/_config/{section}/{key}", Access::server_admin, get_config_key});
  add_config_change_routes(routes);
}

}  // namespace octavo::api::couch
