#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/couch/call/call.h"

/// What the endpoints of `/_node/{node}/_config` share.
namespace octavo::api::couch {

inline constexpr std::string_view masked_secret = "*****";
inline constexpr std::string_view admins_section = "admins";

/// The value that GET shows, secrets masked; nullopt if the configuration has none of this name.
/// Errors: those of the storage.
Expected<std::optional<std::string>> config_value(const Call& call, std::string_view section, std::string_view key);

void add_config_change_routes(RouteList& routes);  ///< config_changes.cpp: PUT, DELETE, _reload

}  // namespace octavo::api::couch
