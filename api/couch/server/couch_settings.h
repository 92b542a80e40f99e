#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "config/setting_table.h"

/// The settings under the names that CouchDB's configuration has for them, and in its forms.
namespace octavo::api::couch {

/// How CouchDB writes a value.
enum class CouchForm : std::uint8_t {
  text,          ///< as Octavo does
  seconds,       ///< a whole number
  milliseconds,  ///< a whole number
  bytes,         ///< a whole number
  log_level,     ///< CouchDB's names of levels
  claims,        ///< exp, {iss, "https://login.example.com"}: Octavo's exp,iss=https://login.example.com
};

/// A setting under CouchDB's names: [chttpd] enable_cors is cors.enabled.
struct CouchSetting {
  std::string_view section;
  std::string_view key;
  std::string_view octavo_section;
  std::string_view octavo_key;
  CouchForm form = CouchForm::text;
};

/// All of them, in the order of their sections.
std::span<const CouchSetting> couch_settings();

/// A setting as a client names it, by CouchDB's or by Octavo's name.
struct NamedSetting {
  const config::Setting* setting;
  CouchForm form;

  /// Its value in this form, secrets not masked.
  std::string value(const config::Draft& draft) const;
  /// A value that a client sent, as config::assign() reads it.
  std::string octavo_text(std::string_view sent) const;
};

/// nullopt: neither CouchDB's nor Octavo's configuration file has this name, or it means a whole table.
std::optional<NamedSetting> find_named_setting(std::string_view section, std::string_view key);

/// What CouchDB's configuration says and cannot be different here: [cluster] n is 1. nullopt: nothing of this name.
std::optional<std::string_view> fixed_couch_value(std::string_view section, std::string_view key);

struct FixedCouchValue {
  std::string_view section;
  std::string_view key;
  std::string_view value;
};
std::span<const FixedCouchValue> fixed_couch_values();

}  // namespace octavo::api::couch
