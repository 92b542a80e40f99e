#pragma once

#include "config/settings.h"

namespace octavo::server {

/// `octavo serve`: opens the data folder, listens, serves until SIGTERM or SIGINT, ends cleanly. Returns the exit code:
/// 0 after a clean end, 1 when it could not start. Call before any thread runs (signals are blocked here).
int run_serve(const config::Settings& wanted);

}  // namespace octavo::server
