#pragma once

#include <string>

#include "config/settings.h"

namespace octavo::config {

/// `settings` as a configuration file, with secrets masked. If there are no secrets, load() reads the same settings.
std::string print_config(const Settings& settings);

/// The text of docs/configuration.md, in Markdown: how to set values, and the table of settings.
std::string configuration_page();

}  // namespace octavo::config
