#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace octavo::server {

/// Opens /dev/null for whichever of the standard descriptors are closed. First of all: a data file that got number 2
/// would be written the log.
void fill_standard_descriptors();

/// Makes the process-wide logger (spdlog's default) write to standard error, as text or as one JSON object a line, at
/// the level of the settings. Call once, before threads start; until then spdlog's own default is in place.
void set_up_logging(const config::Settings& settings);
/// Another level from now on, as log.level names it.
void set_log_level(const std::string& level);

/// Writes whole lines to standard error without tearing the logger's lines apart. Thread-safe.
void write_log_lines(std::string_view lines);

/// Writes a short line to standard error if that does not have to wait, whoever writes there: for a process that ends.
void write_last_words(std::string_view line);

}  // namespace octavo::server
