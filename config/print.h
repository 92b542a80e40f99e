#pragma once

#include <string>

#include "config/settings.h"

namespace octavo::config {

/// `settings` as a configuration file, secrets masked. Without secrets, load() of it gives the same settings.
std::string print_config(const Settings& settings);

/// docs/configuration.md: how to set things, and the table of settings. Markdown.
std::string configuration_page();

}  // namespace octavo::config
