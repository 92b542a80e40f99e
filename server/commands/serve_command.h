#pragma once

#include <expected>
#include <functional>
#include <string>

#include "config/settings.h"

namespace octavo::server {

using Reload = std::function<std::expected<config::Settings, std::string>()>;

/// `octavo serve`: opens the data folder, listens, serves until SIGTERM or SIGINT, and shuts down. Returns the exit
/// code: 0 after a clean shutdown, 1 if it could not start. Call before any thread runs (signals are blocked here).
///
/// At SIGHUP, `reload` reads the settings again from the same sources; certificates, admins and the settings that can
/// change at run time change at once. If it returns an error, a text for people, nothing changes.
int run_serve(const config::Settings& wanted, const Reload& reload);

}  // namespace octavo::server
