#pragma once

#include <expected>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/settings.h"

namespace octavo::config {

/// The environment variable that names the configuration file. Whoever calls load() reads it: --config comes before it.
inline constexpr const char* config_file_variable = "OCTAVO_CONFIG";

using Environment = std::map<std::string, std::string>;

/// Flags as given, in order: {"--port", "5985"}. Of a flag given twice the last counts; lists add up.
using Flags = std::vector<std::pair<std::string, std::string>>;

/// Collects the settings: defaults < `file` < `environment` < `flags`.
///
/// - The file is TOML; see setting_table.h for names. `[admins]` and `[jwt_keys]` are tables of name = value.
/// - Of the environment only OCTAVO_…, COUCHDB_USER, COUCHDB_PASSWORD and COUCHDB_SECRET are looked at. An empty
/// variable
///   counts as not set. What Kubernetes adds for a service called `octavo` (OCTAVO_SERVICE_HOST, OCTAVO_PORT=tcp://…)
///   is passed over.
/// - A secret can also be read from a file: OCTAVO_ADMIN_PASSWORD_FILE, --admin-password-file, …; one newline at its
/// end
///   is taken off. Both forms at one level are an error.
///
/// Anything unknown, malformed or out of range is an error for people: where it stands (file:line:column, variable or
/// flag), the value, what is allowed, and what was probably meant. Secrets are never part of a message.
/// Reads files; no other effects.
std::expected<Settings, std::string> read_settings(const std::optional<std::filesystem::path>& file,
                                                   const Environment& environment, const Flags& flags);

/// read_settings(), then validate(): what a server needs to start.
std::expected<Settings, std::string> load(const std::optional<std::filesystem::path>& file,
                                          const Environment& environment, const Flags& flags);

}  // namespace octavo::config
