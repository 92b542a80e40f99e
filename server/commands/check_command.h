#pragma once

#include <string>

#include "config/settings.h"

namespace octavo::server {

/// `octavo check`: verifies a data folder that no server uses, and prints one line per problem and a summary. Exit
/// code 0 if the data is sound, 1 if there are problems or the folder cannot be opened. `database` empty: all.
int run_check(const config::Settings& settings, const std::string& database);

}  // namespace octavo::server
