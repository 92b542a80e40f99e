#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/settings.h"

/// The one table of settings. The configuration file, the environment, the flags, `--help`, `--print-config`, shell
/// completion and docs/configuration.md are all made from it, so they cannot disagree.
namespace octavo::config {

/// Settings while they are collected. The two additional values become an entry of `admins` at the end.
struct Draft : Settings {
  std::string admin_user;
  std::string admin_password;

  bool operator==(const Draft&) const = default;
};

/// The field of a setting. Its type decides how text is parsed and printed.
using Member = std::variant<bool Draft::*, std::uint16_t Draft::*, std::uint32_t Draft::*, std::uint64_t Draft::*,
                            std::chrono::milliseconds Draft::*, std::chrono::seconds Draft::*, std::string Draft::*,
                            std::filesystem::path Draft::*, Durability Draft::*, LogFormat Draft::*,
                            UuidAlgorithm Draft::*, CosmosTls Draft::*, Compression Draft::*, CompactionMode Draft::*,
                            std::vector<std::string> Draft::*, std::map<std::string, std::string> Draft::*>;

enum class ValueType : std::uint8_t { boolean, number, size, duration, text, path, choice, list, table };

struct Setting {
  std::string_view section;
  std::string_view key;
  Member member;
  ValueType type;
  std::string_view description;  ///< one line, no full stop

  std::uint64_t min = 0;  ///< number, size (bytes), duration (ms)
  std::uint64_t max = 0;
  std::vector<std::string_view> choices = {};

  bool secret = false;                     ///< masked when printed; can also be read from a file
  bool file_variable = false;              ///< its variable followed by _FILE may name a file that has the value
  bool in_file = true;                     ///< false: only in environment and flags
  bool at_run_time = false;                ///< can change while the server runs
  std::string_view couchdb_variable = "";  ///< its name in CouchDB's container image

  /// "http.header_timeout"; for a setting that is a whole table of the file, the section: "admins".
  std::string toml_name() const;
  /// "OCTAVO_HTTP_HEADER_TIMEOUT"; names of [server] and [auth] omit the section. Empty for tables.
  std::string environment_variable() const;
  /// "--http-header-timeout", by the same rule. Empty for tables.
  std::string flag() const;
};

/// Every setting, in the order of the documentation, grouped by section. Thread-safe, cheap.
std::span<const Setting> setting_table();

/// Finds a setting by section and key; the key of a table is empty. nullptr: no setting has this name.
const Setting* find_setting(std::string_view section, std::string_view key);

/// `settings` as a draft without the two additional values.
Draft draft_of(const Settings& settings);

/// One line about a section, e.g. for "tls".
std::string_view section_description(std::string_view section);

/// Parses `text` (of an environment variable or a flag; lists are comma-separated) into the setting's field.
/// The error says what was expected and what was found, without naming the setting. Not for tables.
std::expected<void, std::string> assign(Draft& draft, const Setting& setting, std::string_view text);

/// Gives the setting's field the value that it has in `from`.
void copy_value(Draft& to, const Draft& from, const Setting& setting);

/// The setting's value as assign() reads it, secrets not masked: `64MiB`, `a, b`. Not for tables.
std::string text_value(const Draft& draft, const Setting& setting);

/// The setting's value as TOML, secrets not masked: `"64MiB"`, `true`, `["a", "b"]`. Not for tables.
std::string toml_value(const Draft& draft, const Setting& setting);

/// Name of the type for documentation and help: "number", "size", ….
std::string_view type_name(ValueType type);

/// The allowed values, to follow "expected" in a message: "a size from 1KiB to 16MiB, such as 64MiB".
std::string expectation(const Setting& setting);

/// The short form for a table cell: "1KiB to 16MiB", "commit, relaxed, ephemeral"; empty if any value is allowed.
std::string allowed_values(const Setting& setting);

}  // namespace octavo::config
