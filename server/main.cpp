#include <cstdio>
#include <exception>
#include <string_view>
#include <unistd.h>

#include <spdlog/spdlog.h>

#include "analytics/worker/worker.h"
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

// A program that reads the log as JSON must be able to read why the server did not start.
void print(const octavo::server::ExitMessage& message, bool as_json) {
  if (!message.to_stderr) {
    static_cast<void>(std::fputs(message.text.c_str(), stdout));
  } else if (as_json) {
    octavo::config::Settings settings;
    settings.log_format = octavo::config::LogFormat::json;
    octavo::server::set_up_logging(settings);
    spdlog::error("{}", std::string_view(message.text).substr(0, message.text.find_last_not_of('\n') + 1));
  } else {
    static_cast<void>(std::fputs(message.text.c_str(), stderr));
  }
}

int run(int argc, char** argv) {
  using octavo::server::Command;
  const auto variables = octavo::server::environment_variables(environ);
  const auto command = octavo::server::parse_command_line(argc, argv, variables);
  if (!command) {
    print(command.error(), octavo::server::wants_json_log(argc, argv, variables));
    return command.error().code;
  }
  switch (command->kind) {
    case Command::Kind::serve:
      return octavo::server::run_serve(command->settings, [=] { return read_settings(argc, argv); });
    case Command::Kind::analytics:
      return octavo::analytics::run_worker(command->worker);
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
