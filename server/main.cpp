#include <cstdio>
#include <exception>
#include <unistd.h>

#include "server/commands/check_command.h"
#include "server/commands/command_line.h"
#include "server/commands/serve_command.h"
#include "server/process/health.h"
#include "server/process/logging.h"

namespace {

// For SIGHUP: reads the settings again from the same arguments, environment and files.
std::expected<octavo::config::Settings, std::string> read_settings(int argc, char** argv) {
  auto command = octavo::server::parse_command_line(argc, argv, octavo::server::environment_variables(environ));
  if (!command) return std::unexpected(command.error().text);
  return std::move(command->settings);
}

int run(int argc, char** argv) {
  using octavo::server::Command;
  const auto command = octavo::server::parse_command_line(argc, argv, octavo::server::environment_variables(environ));
  if (!command) {
    static_cast<void>(std::fputs(command.error().text.c_str(), command.error().to_stderr ? stderr : stdout));
    return command.error().code;
  }
  switch (command->kind) {
    case Command::Kind::serve:
      return octavo::server::run_serve(command->settings, [=] { return read_settings(argc, argv); });
    case Command::Kind::health:
      return octavo::server::run_health(command->health_url, command->health_timeout_ms);
    case Command::Kind::check:
      return octavo::server::run_check(command->settings, command->check_database);
  }
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  octavo::server::fill_standard_descriptors();
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    static_cast<void>(std::fprintf(stderr, "octavo: %s\n", error.what()));
    return 1;
  }
}
