#include "server/commands/command_line.h"

#include <array>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/ascii_case.h"
#include "config/load.h"
#include "config/print.h"
#include "config/setting_table.h"
#include "config/suggestion.h"
#include "config/validate.h"
#include "config/value_text.h"
#include "config/version.h"
#include "server/commands/completion_scripts.h"
#include "server/process/address_file.h"

namespace octavo::server {

namespace {

using Failure = std::unexpected<ExitMessage>;
using Result = std::expected<Command, ExitMessage>;

constexpr int usage_error_code = 2;

constexpr std::array<std::string_view, 3> completion_shells{"bash", "zsh", "fish"};

/// Empty for a shell that is not among completion_shells.
std::string_view completion_script(std::string_view shell) {
  if (shell == "bash") return completion_scripts::octavo_bash;
  if (shell == "zsh") return completion_scripts::octavo_zsh;
  if (shell == "fish") return completion_scripts::octavo_fish;
  return {};
}

constexpr std::string_view main_footer = R"(
Examples:
  octavo serve                                   listen on 127.0.0.1:5984, store in ./data
  octavo serve --config /etc/octavo.toml         settings from a file
  octavo serve --print-config                    what all settings add up to
  octavo health                                  exit 0 when the server on this machine answers
  octavo check --data-dir /var/lib/octavo        verify what is stored
  source <(octavo completion bash)               complete commands and flags in this shell

Flags without a command are those of serve. octavo COMMAND --help tells more about a command.)";

constexpr std::string_view serve_footer = R"(
Every flag is also an environment variable, OCTAVO_ and the flag in capitals: --data-dir is OCTAVO_DATA_DIR. In the file
named by --config or OCTAVO_CONFIG, settings stand under a section: [http] idle_timeout is --http-idle-timeout; admins are
the table [admins], name = "password". Flags win over the environment, the environment over the file.
COUCHDB_USER, COUCHDB_PASSWORD and COUCHDB_SECRET are understood as in CouchDB's container image.

Examples:
  octavo serve --data-dir /var/lib/octavo
  octavo serve --bind 0.0.0.0 --admin-user ann --admin-password-file /run/secrets/ann
  octavo serve --tls-certificate chain.pem --tls-key key.pem --port 6984
  OCTAVO_HTTP_REQUEST_BODY_BYTES_MAX=16MiB octavo serve --log-format json)";

Failure usage_error(std::string_view message, std::string_view command = "") {
  return Failure({usage_error_code,
                  fmt::format("octavo: {}\nTry: octavo {}{}--help\n", message, command, command.empty() ? "" : " "),
                  true});
}

Failure settings_error(std::string_view message) {
  return Failure({usage_error_code, fmt::format("octavo: {}\n", message), true});
}

Failure print(std::string text) {
  return Failure({0, std::move(text), false});
}

/// The parser: the subcommands, and the values of their options.
class Arguments {
 public:
  Arguments() {
    app_.description("Octavo, a partitioned JSON document database over HTTP.");
    app_.footer(std::string(main_footer));
    app_.set_version_flag("--version", fmt::format("octavo {}", config::version()), "Print the version and exit");
    app_.set_help_flag("-h,--help", "Print this help and exit");
    app_.get_formatter()->column_width(40);
    app_.require_subcommand(0, 1);
    app_.allow_extras();  // so that refuse_unknown() can make a suggestion
    add_serve();
    add_health();
    add_check();
    add_subcommand(version_, "version", "Print the version");
    add_subcommand(completion_, "completion", "Print a completion script for a shell");
    add_option(*completion_, "shell", "", "Which shell", shell_)
        ->type_name(fmt::format("{}", fmt::join(completion_shells, "|")))
        ->required();
    add_subcommand(config_table_, "config-table", "Print docs/configuration.md");
    config_table_->group("");  // for developers of Octavo: hidden in the help
    add_analytics();
  }

  Result parse(int argc, const char* const* argv, const config::Environment& environment) {
    try {
      std::vector<const char*> arguments(argv, argv + argc);
      if (begins_with_flag_of_serve(arguments)) arguments.insert(arguments.begin() + 1, "serve");
      app_.parse(static_cast<int>(arguments.size()), arguments.data());
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::Success))
        return usage_error(error.what(), command_name());
      std::ostringstream out;
      app_.exit(error, out, out);  // help or version
      return print(std::move(out).str());
    }
    if (auto known = refuse_unknown(); !known) return Failure(known.error());
    if (serve_->parsed()) return serve(environment);
    if (health_->parsed()) return health(environment);
    if (check_->parsed()) return check(environment);
    if (analytics_->parsed()) return analytics();
    if (version_->parsed()) return print(fmt::format("octavo {}\n", config::version()));
    if (completion_->parsed()) return completion();
    if (config_table_->parsed()) return print(config::configuration_page());
    return Failure({usage_error_code, app_.help(), true});
  }

 private:
  // `docker run IMAGE --port 6984` replaces the command of the image.
  bool begins_with_flag_of_serve(const std::vector<const char*>& arguments) const {
    if (arguments.size() < 2) return false;
    const std::string_view first = arguments[1];
    const std::string flag(first.substr(0, first.find('=')));
    return flag.starts_with("--") && app_.get_option_no_throw(flag) == nullptr &&
           serve_->get_option_no_throw(flag) != nullptr;
  }

  void add_subcommand(CLI::App*& subcommand, const std::string& name, const std::string& description) {
    subcommand = app_.add_subcommand(name, description);
    subcommand->allow_extras();
    subcommand->set_help_flag("-h,--help", "Print this help and exit");
    subcommand->get_formatter()->column_width(40);
  }

  static CLI::Option* add_option(CLI::App& app, const std::string& name, const std::string& type_name,
                                 const std::string& description, std::string& value) {
    return app.add_option(name, value, description)
        ->type_name(type_name)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }

  void add_config_option(CLI::App& app) {
    add_option(app, "--config", "PATH", "TOML file with settings; also OCTAVO_CONFIG", config_file_);
  }

  void add_serve() {
    add_subcommand(serve_, "serve", "Run the server");
    serve_->footer(std::string(serve_footer));
    add_config_option(*serve_);
    serve_->add_flag("--print-config", print_config_, "Print the settings in effect, secrets masked, and exit");
    const config::Draft defaults;
    for (const auto& setting : config::setting_table()) {
      if (setting.type == config::ValueType::table) continue;
      const auto group = fmt::format("[{}] {}", setting.section, config::section_description(setting.section));
      auto* option = setting.type == config::ValueType::boolean ? serve_->add_flag(setting.flag())
                                                                : add_setting_option(setting.flag());
      option->description(describe(setting, defaults))->group(group);
      if (setting.type == config::ValueType::choice) {
        option->type_name(fmt::format("{}", fmt::join(setting.choices, "|")));
      } else if (setting.type != config::ValueType::boolean) {
        option->type_name(upper_case(config::type_name(setting.type)));
      }
      setting_options_.emplace_back(setting.flag(), option);
      if (setting.secret) {
        const auto flag = setting.flag() + "-file";
        auto* file_option = add_setting_option(flag);
        file_option->type_name("PATH")->description("File that holds it")->group(group);
        setting_options_.emplace_back(flag, file_option);
      }
    }
  }

  // Accepts any value, any number of times; config::load() checks it.
  CLI::Option* add_setting_option(const std::string& flag) {
    return serve_->add_option(flag, [](const CLI::results_t&) { return true; })
        ->expected(1)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  static std::string describe(const config::Setting& setting, const config::Draft& defaults) {
    auto value = config::toml_value(defaults, setting);
    if (setting.type != config::ValueType::list && value.starts_with('"')) value = value.substr(1, value.size() - 2);
    if (value.empty() || value == "[]") return std::string(setting.description);
    return fmt::format("{} ({})", setting.description, value);
  }

  void add_health() {
    add_subcommand(health_, "health", "Ask a running server whether it is well: exit 0 if so, else 1");
    add_option(*health_, "--url", "URL", "What to ask (/_up on the configured address and port)", health_url_);
    add_option(*health_, "--timeout", "DURATION", "How long to wait for the answer (5s)", health_timeout_);
    add_config_option(*health_);
    health_->footer(
        "\nWithout --url, the address is the one that the running server has written into its data folder, or the one "
        "in "
        "the configuration file and the OCTAVO_ variables.");
  }

  void add_check() {
    add_subcommand(check_, "check", "Verify a data folder; exit 0 when it is sound, else 1");
    add_option(*check_, "--data-dir", "PATH", "Folder to verify (the configured one)", check_data_dir_);
    add_option(*check_, "--database", "NAME", "Only this database", check_database_);
    add_config_option(*check_);
  }

  // A server starts it: hidden in the help.
  void add_analytics() {
    add_subcommand(analytics_, "analytics", "The analytical process, which a server starts");
    analytics_->group("");
    add_option(*analytics_, "--library", "PATH", "DuckDB's library", worker_.library)->required();
    add_option(*analytics_, "--library-sha256", "HEX", "Its checksum", worker_.sha256);
    add_option(*analytics_, "--memory-bytes", "NUMBER", "Memory for each database or group", worker_.memory)
        ->required();
    add_option(*analytics_, "--temporary-bytes", "NUMBER", "Disk for each database or group", worker_.temporary)
        ->required();
    add_option(*analytics_, "--query-time-ms", "NUMBER", "Time of a query", worker_.query_time)->required();
  }

  std::string command_name() const {
    const auto parsed = app_.get_subcommands();
    return parsed.empty() ? "" : parsed.front()->get_name();
  }

  std::expected<void, ExitMessage> refuse_unknown() const {
    const auto parsed = app_.get_subcommands();
    const auto extras = app_.remaining(true);
    if (extras.empty()) return {};
    // Without the value after `=`, which may be a secret.
    const auto word = extras.front().substr(0, extras.front().find('='));
    std::vector<std::string> candidates;
    if (word.starts_with("-")) {
      const auto& app = parsed.empty() ? app_ : *parsed.front();
      for (const auto* option : app.get_options()) {
        for (const auto& name : option->get_lnames()) candidates.push_back("--" + name);
      }
      return usage_error(fmt::format("unknown flag {}{}", word, config::did_you_mean(word, candidates)),
                         command_name());
    }
    if (!parsed.empty()) return usage_error(fmt::format("unexpected argument \"{}\"", word), command_name());
    for (const auto* subcommand : app_.get_subcommands([](const CLI::App* app) { return !app->get_group().empty(); })) {
      candidates.push_back(subcommand->get_name());
    }
    return usage_error(fmt::format("unknown command \"{}\"{}", word, config::did_you_mean(word, candidates)));
  }

  std::optional<std::filesystem::path> config_file(const config::Environment& environment) const {
    if (!config_file_.empty()) return config_file_;
    const auto variable = environment.find(config::config_file_variable);
    if (variable != environment.end() && !variable->second.empty()) return variable->second;
    return std::nullopt;
  }

  Result serve(const config::Environment& environment) const {
    config::Flags flags;
    for (const auto& [flag, option] : setting_options_) {
      for (const auto& value : option->results()) flags.emplace_back(flag, value);
    }
    auto settings = config::load(config_file(environment), environment, flags);
    if (!settings) return settings_error(settings.error());
    if (print_config_) return print(config::print_config(*settings));
    Command command;
    command.kind = Command::Kind::serve;
    command.settings = std::move(*settings);
    return command;
  }

  Result analytics() const {
    const auto memory = config::parse_size(worker_.memory);
    const auto temporary = config::parse_size(worker_.temporary);
    const auto time = config::parse_duration(worker_.query_time);
    if (!memory || !temporary || !time) return usage_error("a number was expected", "analytics");
    Command command;
    command.kind = Command::Kind::analytics;
    command.worker = {.library = worker_.library,
                      .library_sha256 = worker_.sha256,
                      .memory_bytes = *memory,
                      .temporary_bytes = *temporary,
                      .query_time_max = *time};
    return command;
  }

  Result health(const config::Environment& environment) const {
    Command command;
    command.kind = Command::Kind::health;
    if (!health_timeout_.empty()) {
      const auto timeout = config::parse_duration(health_timeout_);
      if (!timeout || timeout->count() == 0 || *timeout > std::chrono::hours(1)) {
        return usage_error("--timeout: expected a duration from 1ms to 1h, such as 500ms or 10s", "health");
      }
      command.health_timeout_ms = *timeout;
    }
    if (!health_url_.empty()) {
      const auto host = health_url_.find("://");
      const auto scheme = health_url_.substr(0, host);
      if (host == std::string::npos || host + 3 == health_url_.size() || (scheme != "http" && scheme != "https")) {
        return usage_error("--url: expected http://host:port/path or https://host:port/path", "health");
      }
      command.health_url = health_url_;
      return command;
    }
    auto settings = config::read_settings(config_file(environment), environment, {});
    if (!settings) return settings_error(settings.error());
    // The running server knows best: flags may have set its port.
    if (auto url = AddressFile::read(settings->data_dir)) {
      command.health_url = *std::move(url);
    } else if (settings->port == 0) {
      return usage_error("the configured port is 0, so the real one is unknown: give --url", "health");
    } else {
      command.health_url = local_url(*settings, settings->port);
    }
    command.settings = std::move(*settings);
    return command;
  }

  Result check(const config::Environment& environment) const {
    config::Flags flags;
    if (!check_data_dir_.empty()) flags.emplace_back("--data-dir", check_data_dir_);
    auto settings = config::read_settings(config_file(environment), environment, flags);
    if (!settings) return settings_error(settings.error());
    Command command;
    command.kind = Command::Kind::check;
    command.settings = std::move(*settings);
    command.check_database = check_database_;
    return command;
  }

  Result completion() const {
    const auto script = completion_script(shell_);
    if (script.empty()) {
      return usage_error(
          fmt::format("no completion for \"{}\"; there is {}", shell_, fmt::join(completion_shells, ", ")),
          "completion");
    }
    return print(std::string(script));
  }

  CLI::App app_{"", "octavo"};
  CLI::App* serve_ = nullptr;
  CLI::App* health_ = nullptr;
  CLI::App* check_ = nullptr;
  CLI::App* analytics_ = nullptr;
  CLI::App* version_ = nullptr;
  CLI::App* completion_ = nullptr;
  CLI::App* config_table_ = nullptr;

  std::vector<std::pair<std::string, CLI::Option*>> setting_options_;
  std::string config_file_;
  bool print_config_ = false;
  std::string health_url_;
  std::string health_timeout_;
  std::string check_data_dir_;
  std::string check_database_;
  std::string shell_;
  struct {
    std::string library;
    std::string sha256;
    std::string memory;
    std::string temporary;
    std::string query_time;
  } worker_;
};

}  // namespace

Result parse_command_line(int argc, const char* const* argv, const std::map<std::string, std::string>& environment) {
  try {
    return Arguments().parse(argc, argv, environment);
  } catch (const std::exception& error) {
    // Not expected, but a failed start must end with a message and not in std::terminate.
    return usage_error(error.what());
  }
}

bool wants_json_log(int argc, const char* const* argv, const std::map<std::string, std::string>& environment) {
  const config::Setting* format = config::find_setting("log", "format");
  const auto variable = environment.find(format->environment_variable());
  bool wants = variable != environment.end() && variable->second == "json";
  const std::string flag = format->flag();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument(argv[i]);
    if (argument == flag && i + 1 < argc) wants = std::string_view(argv[i + 1]) == "json";
    if (argument.starts_with(flag + "=")) wants = argument.substr(flag.size() + 1) == "json";
  }
  return wants;
}

std::map<std::string, std::string> environment_variables(const char* const* environ) {
  std::map<std::string, std::string> variables;
  for (; environ != nullptr && *environ != nullptr; ++environ) {
    const std::string_view entry(*environ);
    const auto equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

}  // namespace octavo::server
