#include "api/couch/server/couch_settings.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

namespace octavo::api::couch {

namespace {

// Sections that both have (cors, log, uuids) need a row only for keys with another form or name.
constexpr std::array couch_names{
    CouchSetting{"chttpd", "WWW-Authenticate", "auth", "challenge"},
    CouchSetting{"chttpd", "admin_only_all_dbs", "auth", "admin_only_all_dbs"},
    CouchSetting{"chttpd", "bind_address", "server", "bind"},
    CouchSetting{"chttpd", "decode_plus_to_space", "http", "decode_plus_to_space"},
    CouchSetting{"chttpd", "enable_cors", "cors", "enabled"},
    CouchSetting{"chttpd", "max_http_request_size", "http", "request_body_bytes_max", CouchForm::bytes},
    CouchSetting{"chttpd", "port", "server", "port"},
    CouchSetting{"chttpd", "require_valid_user", "auth", "require_valid_user"},
    CouchSetting{"chttpd_auth", "iterations", "auth", "pbkdf2_iterations"},
    CouchSetting{"chttpd_auth", "require_valid_user", "auth", "require_valid_user"},
    CouchSetting{"chttpd_auth", "secret", "auth", "cookie_secret"},
    CouchSetting{"chttpd_auth", "timeout", "auth", "session_timeout", CouchForm::seconds},
    CouchSetting{"cluster", "q", "database", "default_q"},
    CouchSetting{"cors", "max_age", "cors", "max_age", CouchForm::seconds},
    CouchSetting{"couch_httpd_auth", "iterations", "auth", "pbkdf2_iterations"},
    CouchSetting{"couch_httpd_auth", "require_valid_user", "auth", "require_valid_user"},
    CouchSetting{"couch_httpd_auth", "secret", "auth", "cookie_secret"},
    CouchSetting{"couch_httpd_auth", "timeout", "auth", "session_timeout", CouchForm::seconds},
    CouchSetting{"couchdb", "database_dir", "server", "data_dir"},
    CouchSetting{"couchdb", "max_dbs_open", "storage", "open_partitions_max"},
    CouchSetting{"couchdb", "max_document_size", "database", "document_bytes_max", CouchForm::bytes},
    CouchSetting{"couchdb", "max_partition_size", "database", "logical_partition_bytes_max", CouchForm::bytes},
    CouchSetting{"couchdb", "os_process_timeout", "javascript", "call_time", CouchForm::milliseconds},
    CouchSetting{"couchdb", "view_index_dir", "server", "data_dir"},
    CouchSetting{"httpd", "WWW-Authenticate", "auth", "challenge"},
    CouchSetting{"httpd", "bind_address", "server", "bind"},
    CouchSetting{"httpd", "enable_cors", "cors", "enabled"},
    CouchSetting{"httpd", "max_http_request_size", "http", "request_body_bytes_max", CouchForm::bytes},
    CouchSetting{"httpd", "port", "server", "port"},
    CouchSetting{"jwt_auth", "required_claims", "auth", "jwt_required_claims", CouchForm::claims},
    CouchSetting{"jwt_auth", "roles_claim_path", "auth", "jwt_roles_claim_path"},
    CouchSetting{"log", "level", "log", "level", CouchForm::log_level},
    CouchSetting{"ssl", "cert_file", "tls", "certificate"},
    CouchSetting{"ssl", "key_file", "tls", "key"},
};

constexpr std::array fixed_values{
    FixedCouchValue{"cluster", "n", "1"},
    FixedCouchValue{"couch_httpd_auth", "authentication_db", "_users"},
    FixedCouchValue{"chttpd_auth", "authentication_db", "_users"},
    FixedCouchValue{"couchdb", "single_node", "true"},
    FixedCouchValue{"vendor", "name", "Octavo"},
};

// CouchDB's level → Octavo's. The first one of Octavo's names is the one that is shown.
constexpr std::array<std::pair<std::string_view, std::string_view>, 12> level_names{{
    {"debug", "debug"},
    {"info", "info"},
    {"notice", "info"},
    {"warning", "warn"},
    {"warn", "warn"},
    {"error", "error"},
    {"err", "error"},
    {"critical", "critical"},
    {"crit", "critical"},
    {"alert", "critical"},
    {"emergency", "critical"},
    {"none", "off"},
}};

bool is_whole_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// The value as a whole number: bytes, or the unit of `form`. nullopt if its field is no number.
std::optional<std::uint64_t> number_of(const config::Draft& draft, const config::Setting& setting, CouchForm form) {
  return std::visit(
      [&]<class T>(T config::Draft::* member) -> std::optional<std::uint64_t> {
        const T& field = draft.*member;
        if constexpr (std::is_same_v<T, std::chrono::seconds> || std::is_same_v<T, std::chrono::milliseconds>) {
          const std::chrono::milliseconds duration = field;
          return static_cast<std::uint64_t>(form == CouchForm::seconds ? duration.count() / 1000 : duration.count());
        } else if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
          return field;
        } else {
          return std::nullopt;
        }
      },
      setting.member);
}

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view()
                                         : text.substr(begin, text.find_last_not_of(' ') - begin + 1);
}

/// {iss, "value"} → iss=value; others stay as they are.
std::string octavo_claim(std::string_view claim) {
  const auto comma = claim.find(',');
  if (comma == std::string_view::npos || !claim.starts_with('{') || !claim.ends_with('}')) return std::string(claim);
  const auto value = trimmed(claim.substr(comma + 1, claim.size() - comma - 2));
  if (value.size() < 2 || value.front() != '"' || value.back() != '"') return std::string(claim);
  return std::string(trimmed(claim.substr(1, comma - 1))) + '=' + std::string(value.substr(1, value.size() - 2));
}

std::string octavo_claims(std::string_view sent) {
  std::string text;
  while (!sent.empty()) {
    const auto end = sent.find(',', trimmed(sent).starts_with('{') ? std::min(sent.find('}'), sent.size()) : 0);
    if (!text.empty()) text += ',';
    text += octavo_claim(trimmed(sent.substr(0, end)));
    sent.remove_prefix(end == std::string_view::npos ? sent.size() : end + 1);
  }
  return text;
}

std::string couch_claims(const std::vector<std::string>& claims) {
  std::string text;
  for (const auto& claim : claims) {
    if (!text.empty()) text += ", ";
    const auto equals = claim.find('=');
    text += equals == std::string::npos
                ? claim
                : fmt::format("{{{}, \"{}\"}}", claim.substr(0, equals), claim.substr(equals + 1));
  }
  return text;
}

}  // namespace

std::span<const CouchSetting> couch_settings() {
  return couch_names;
}

std::span<const FixedCouchValue> fixed_couch_values() {
  return fixed_values;
}

std::optional<std::string_view> fixed_couch_value(std::string_view section, std::string_view key) {
  for (const auto& fixed : fixed_values) {
    if (fixed.section == section && fixed.key == key) return fixed.value;
  }
  return std::nullopt;
}

std::optional<NamedSetting> find_named_setting(std::string_view section, std::string_view key) {
  for (const auto& named : couch_names) {
    if (named.section == section && named.key == key) {
      return NamedSetting{config::find_setting(named.octavo_section, named.octavo_key), named.form};
    }
  }
  const config::Setting* setting = config::find_setting(section, key);
  if (setting == nullptr || !setting->in_file || setting->type == config::ValueType::table) return std::nullopt;
  return NamedSetting{setting, CouchForm::text};
}

std::string NamedSetting::value(const config::Draft& draft) const {
  std::string text = config::text_value(draft, *setting);
  if (form == CouchForm::text) return text;
  if (form == CouchForm::log_level) {
    const auto name =
        std::ranges::find(level_names, std::string_view(text), &decltype(level_names)::value_type::second);
    return name == level_names.end() ? text : std::string(name->first);
  }
  if (form == CouchForm::claims) return couch_claims(draft.jwt_required_claims);
  const auto number = number_of(draft, *setting, form);
  return number ? std::to_string(*number) : text;
}

std::string NamedSetting::octavo_text(std::string_view sent) const {
  if (form == CouchForm::claims) return octavo_claims(sent);
  std::string text(sent);
  if (form == CouchForm::seconds && is_whole_number(sent)) text += 's';
  if (form == CouchForm::log_level) {
    const auto name = std::ranges::find(level_names, sent, &decltype(level_names)::value_type::first);
    if (name != level_names.end()) text = name->second;
  }
  return text;
}

}  // namespace octavo::api::couch
