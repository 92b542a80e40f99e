#pragma once

#include <string>

#include "config/settings.h"

namespace octavo::server {

/// `octavo check`: verifies a data folder that no server uses, prints what is wrong line by line and a summary. Exit
/// code 0 when sound, 1 when something is wrong or the folder cannot be opened. `database` empty: all.
int run_check(const config::Settings& settings, const std::string& database);

}  // namespace octavo::server
