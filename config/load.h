#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace octavo::config {

/// The environment variable that names the configuration file. The caller of load() reads it; --config has precedence.
inline constexpr const char* config_file_variable = "OCTAVO_CONFIG";

/// Stands in SettingSources between a source and a weaker one: "OCTAVO_PORT instead of octavo.toml:4".
inline constexpr std::string_view instead_of = " instead of ";

using Environment = std::map<std::string, std::string>;

/// Flags as given, in order: {"--port", "5985"}. The last of a repeated flag counts; lists are concatenated.
using Flags = std::vector<std::pair<std::string, std::string>>;

/// Collects the settings: defaults < `file` < `environment` < `flags`.
///
/// - The file is TOML; see setting_table.h for names. `[admins]` and `[jwt_keys]` are tables of name = value.
/// - The environment variables are OCTAVO_…, COUCHDB_USER, COUCHDB_PASSWORD and COUCHDB_SECRET. An empty variable
///   counts as not set. Variables that Kubernetes sets for a service called `octavo` (OCTAVO_SERVICE_HOST,
///   OCTAVO_PORT=tcp://…) are ignored.
/// - A secret can also be read from a file: OCTAVO_ADMIN_PASSWORD_FILE, --admin-password-file, …; one newline at its
///   end is removed. Both forms at one level are an error.
///
/// Anything unknown, malformed or out of range is an error with a message for people: the location (file:line:column,
/// variable or flag), the value, the allowed values, and a suggestion. Secrets are never part of a message.
/// Reads files; no other effects.
std::expected<Settings, std::string> read_settings(const std::optional<std::filesystem::path>& file,
                                                   const Environment& environment, const Flags& flags);

/// read_settings(), then validate(), for a server that starts.
std::expected<Settings, std::string> load(const std::optional<std::filesystem::path>& file,
                                          const Environment& environment, const Flags& flags);

}  // namespace octavo::config
