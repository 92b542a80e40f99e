#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "analytics/worker/worker.h"
#include "config/settings.h"

namespace octavo::server {

/// The command to execute, fully parsed and checked.
///
/// `kind` decides which of the fields below are used. Commands that only print (`--help`, `version`, `completion`,
/// `--print-config`, …) become an ExitMessage with code 0.
struct Command {
  enum class Kind : std::uint8_t {
    serve,      ///< run the server with `settings`
    health,     ///< request `health_url`; exit 0 if it answers 200 within `health_timeout_ms`, else 1
    analytics,  ///< run the analytical process, for a server (analytics/worker/worker.h)
    check,      ///< verify `settings.data_dir`, or only `check_database` in it; exit 0 if sound, else 1
  };
  Kind kind = Kind::serve;

  /// serve: the effective settings (file < environment < flags), validated.
  /// check: from the same sources, so that `octavo check` finds the data folder of the server.
  config::Settings settings;

  std::string health_url;                             ///< e.g. "http://127.0.0.1:5984/_up"; https:// when TLS is set
  std::chrono::milliseconds health_timeout_ms{5000};  ///< for the whole exchange

  analytics::WorkerOptions worker;  ///< analytics

  std::string check_database;  ///< empty = all databases
};

/// The program must print `text` and exit with `code`: help and version (0), or an error in the arguments or the
/// settings (2). `text` ends with a newline.
struct ExitMessage {
  int code = 0;
  std::string text;
  bool to_stderr = false;
};

/// Parses the arguments (argv[0] is the program), with the settings also taken from the configuration file and the
/// environment. Reads the configuration file and secret files; writes nothing. Never throws.
std::expected<Command, ExitMessage> parse_command_line(int argc, const char* const* argv,
                                                       const std::map<std::string, std::string>& environment);

/// Whether the arguments or the environment ask for a log in JSON. For messages about settings that cannot be read, so
/// it does not look into the configuration file.
bool wants_json_log(int argc, const char* const* argv, const std::map<std::string, std::string>& environment);

/// The process environment (`::environ`) as a map, for parse_command_line.
std::map<std::string, std::string> environment_variables(const char* const* environ);

}  // namespace octavo::server
