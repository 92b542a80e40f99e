#pragma once

#include <string>
#include <string_view>

#include "config/settings.h"

namespace octavo::server {

/// Opens /dev/null for each closed standard descriptor. Call first: otherwise a data file could get number 2, and the
/// log would be written into it.
void fill_standard_descriptors();

/// Makes the process-wide logger (spdlog's default) write to standard error, as text or as one JSON object per line, at
/// the level in the settings. Call once, before threads start; until then spdlog's own default is used.
void set_up_logging(const config::Settings& settings);
/// Changes the log level; `level` as in the setting log.level.
void set_log_level(const std::string& level);

/// Writes whole lines to standard error, not mixed with the logger's lines. Thread-safe.
void write_log_lines(std::string_view lines);

/// Writes a short line to standard error without locks, and only if it need not wait. For a process that exits.
void write_last_words(std::string_view line);

}  // namespace octavo::server
