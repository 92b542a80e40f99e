#include "server/commands/command_line.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <set>
#include <sstream>
#include <unistd.h>

#include <catch2/catch.hpp>

#include "config/print.h"
#include "config/setting_table.h"
#include "config/version.h"

using namespace octavo;
using namespace octavo::server;
using namespace std::chrono_literals;
using Catch::Contains;
using Catch::StartsWith;

namespace {

using Environment = std::map<std::string, std::string>;

std::expected<Command, ExitMessage> parse(std::initializer_list<const char*> arguments,
                                          const Environment& environment = {}) {
  std::vector<const char*> argv{"octavo"};
  argv.insert(argv.end(), arguments);
  return parse_command_line(static_cast<int>(argv.size()), argv.data(), environment);
}

/// The mistake found in the arguments; checks that it goes where mistakes go.
std::string mistake(std::initializer_list<const char*> arguments, const Environment& environment = {}) {
  const auto parsed = parse(arguments, environment);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == 2);
  CHECK(parsed.error().to_stderr);
  CHECK(parsed.error().text.ends_with('\n'));
  return parsed.error().text;
}

/// What a command prints that only prints.
std::string printed(std::initializer_list<const char*> arguments, const Environment& environment = {}) {
  const auto parsed = parse(arguments, environment);
  REQUIRE_FALSE(parsed);
  CHECK(parsed.error().code == 0);
  CHECK_FALSE(parsed.error().to_stderr);
  CHECK(parsed.error().text.ends_with('\n'));
  return parsed.error().text;
}

/// Runs the completion script in bash: the words before the cursor → what is offered.
std::string complete_in_bash(const std::string& words) {
  std::string path = (std::filesystem::temp_directory_path() / "octavo-completion-XXXXXX").string();
  const int descriptor = ::mkstemp(path.data());
  REQUIRE(descriptor >= 0);
  ::close(descriptor);
  std::ofstream(path) << printed({"completion", "bash"}) << "COMP_WORDS=(" << words
                      << ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_octavo\necho \"${COMPREPLY[*]}\"\n";
  std::string output;
  if (FILE* pipe = ::popen(("bash --norc " + path).c_str(), "r")) {
    std::array<char, 4096> buffer{};
    while (const auto count = ::fread(buffer.data(), 1, buffer.size(), pipe)) output.append(buffer.data(), count);
    ::pclose(pipe);
  }
  std::filesystem::remove(path);
  return output;
}

using Names = std::set<std::string>;

/// What stands in `text` behind each `before`, up to the next character of `ends`.
Names names_between(const std::string& text, const std::string& before, const std::string& ends) {
  Names names;
  for (auto at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    names.insert(text.substr(at, text.find_first_of(ends, at) - at));
  }
  return names;
}

/// The part of `text` behind the first `before`, up to the next `after`.
std::string part_between(const std::string& text, const std::string& before, const std::string& after) {
  const auto at = text.find(before);
  REQUIRE(at != std::string::npos);
  const auto begin = at + before.size();
  return text.substr(begin, text.find(after, begin) - begin);
}

Names commands_in_help(const std::string& help) {
  return names_between(part_between(help, "\nSubcommands:", "\n\n"), "\n  ", " ");
}

/// The options, without dashes: in help, only lines that describe an option begin with a dash.
Names options_in_help(const std::string& help) {
  Names names;
  std::istringstream lines(help);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  -")) continue;
    const auto begin = line.find("--") + 2;
    names.insert(line.substr(begin, line.find(' ', begin) - begin));
  }
  return names;
}

}  // namespace

// --- serve ----------------------------------------------------------------------------------------------------------

TEST_CASE("serve alone runs with the defaults") {
  const auto command = parse({"serve"});
  REQUIRE(command);
  CHECK(command->kind == Command::Kind::serve);
  CHECK(command->settings == config::Settings{});
}

TEST_CASE("serve takes settings as flags") {
  const auto command = parse({"serve", "--port", "6000", "--data-dir=/tmp/x", "--log-format", "json"});
  REQUIRE(command);
  CHECK(command->settings.port == 6000);
  CHECK(command->settings.data_dir == "/tmp/x");
  CHECK(command->settings.log_format == config::LogFormat::json);
}

TEST_CASE("a boolean flag needs no value but may have one") {
  const auto command = parse({"serve", "--require-valid-user", "--log-access=false"});
  REQUIRE(command);
  CHECK(command->settings.require_valid_user);
  CHECK_FALSE(command->settings.access_log);
}

TEST_CASE("a flag given again replaces the first, so that scripts can put defaults before \"$@\"") {
  const auto command = parse({"serve", "--port", "1", "--port", "2"});
  REQUIRE(command);
  CHECK(command->settings.port == 2);
}

TEST_CASE("a list flag may be given again") {
  const auto command = parse({"serve", "--cors-origins", "https://a.example", "--cors-origins", "https://b.example"});
  REQUIRE(command);
  CHECK(command->settings.cors_origins == std::vector<std::string>{"https://a.example", "https://b.example"});
}

TEST_CASE("serve takes settings from the environment and flags win") {
  const auto command = parse({"serve", "--port", "1"}, {{"OCTAVO_PORT", "2"}, {"OCTAVO_DATA_DIR", "/tmp/y"}});
  REQUIRE(command);
  CHECK(command->settings.port == 1);
  CHECK(command->settings.data_dir == "/tmp/y");
}

TEST_CASE("serve reads the file that --config names, before the one OCTAVO_CONFIG names") {
  std::string folder = (std::filesystem::temp_directory_path() / "octavo-command-line-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const auto by_flag = folder + "/flag.toml";
  const auto by_variable = folder + "/variable.toml";
  std::ofstream(by_flag) << "[server]\nport = 1001\n";
  std::ofstream(by_variable) << "[server]\nport = 1002\n";

  const auto flag_and_variable = parse({"serve", "--config", by_flag.c_str()}, {{"OCTAVO_CONFIG", by_variable}});
  const auto variable = parse({"serve"}, {{"OCTAVO_CONFIG", by_variable}});
  std::filesystem::remove_all(folder);

  REQUIRE(flag_and_variable);
  CHECK(flag_and_variable->settings.port == 1001);
  REQUIRE(variable);
  CHECK(variable->settings.port == 1002);
}

TEST_CASE("serve has a flag for every setting that is not a table") {
  const auto help = printed({"serve", "--help"});
  for (const auto& setting : config::setting_table()) {
    if (setting.type != config::ValueType::table) CHECK_THAT(help, Contains("  " + setting.flag() + " "));
  }
}

TEST_CASE("a public address without an admin does not start") {
  CHECK_THAT(mistake({"serve", "--bind", "0.0.0.0"}), StartsWith("octavo: server.bind: 0.0.0.0 can be reached"));
}

TEST_CASE("a bad value is reported with its flag") {
  CHECK(mistake({"serve", "--port", "http"}) ==
        "octavo: --port: expected a whole number from 0 to 65535, found \"http\"\n");
}

TEST_CASE("the flag --print-config prints the settings in effect with secrets masked") {
  const auto text =
      printed({"serve", "--port", "7", "--print-config"}, {{"COUCHDB_USER", "ann"}, {"COUCHDB_PASSWORD", "hunter2"}});
  CHECK_THAT(text, Contains("port = 7  # --port\n") && Contains("\"ann\" = \"********\"") && !Contains("hunter2"));
}

// --- Mistakes -------------------------------------------------------------------------------------------------------

TEST_CASE("an unknown flag is an error with a suggestion") {
  CHECK(mistake({"serve", "--prot", "80"}) ==
        "octavo: unknown flag --prot; did you mean \"--port\"?\nTry: octavo serve --help\n");
}

TEST_CASE("the value of an unknown flag is not repeated, as it may be a secret") {
  CHECK_THAT(mistake({"serve", "--admin-pasword=hunter2"}), !Contains("hunter2"));
}

TEST_CASE("an unknown command is an error with a suggestion") {
  CHECK(mistake({"serv"}) == "octavo: unknown command \"serv\"; did you mean \"serve\"?\nTry: octavo --help\n");
}

TEST_CASE("flags without a command are those of serve") {
  for (const auto& arguments : {std::initializer_list<const char*>{"--port", "80"}, {"--port=80"}}) {
    const auto command = parse(arguments);
    REQUIRE(command);
    CHECK(command->kind == Command::Kind::serve);
    CHECK(command->settings.port == 80);
  }
  CHECK_THAT(printed({"--help"}), Contains("Subcommands:"));
  CHECK_THAT(mistake({"--prot", "80"}), StartsWith("octavo: unknown flag --prot"));
  CHECK_THAT(mistake({"--port", "80", "health"}), StartsWith("octavo: unexpected argument \"health\""));
}

TEST_CASE("a log in JSON is asked for by a variable or a flag, and the flag decides") {
  const auto wants = [](std::vector<const char*> argv, const Environment& environment) {
    argv.insert(argv.begin(), "octavo");
    return wants_json_log(static_cast<int>(argv.size()), argv.data(), environment);
  };
  CHECK_FALSE(wants({"serve"}, {}));
  CHECK(wants({"serve"}, {{"OCTAVO_LOG_FORMAT", "json"}}));
  CHECK(wants({"serve", "--log-format", "json"}, {}));
  CHECK(wants({"serve", "--log-format=json"}, {}));
  CHECK_FALSE(wants({"serve", "--log-format", "text"}, {{"OCTAVO_LOG_FORMAT", "json"}}));
}

TEST_CASE("the printed settings say where each was given") {
  const std::string text = printed({"serve", "--print-config", "--port", "80"}, {{"OCTAVO_DATA_DIR", "/srv/x"}});
  CHECK_THAT(text, Contains("\nport = 80  # --port\n"));
  CHECK_THAT(text, Contains("data_dir = \"/srv/x\"  # OCTAVO_DATA_DIR\n"));
  CHECK_THAT(text, Contains("\nbind = \"127.0.0.1\"\n"));
}

TEST_CASE("an argument too many is an error") {
  CHECK_THAT(mistake({"serve", "now"}), StartsWith("octavo: unexpected argument \"now\""));
  CHECK_THAT(mistake({"serve", "health"}), StartsWith("octavo: unexpected argument \"health\""));
}

TEST_CASE("a flag without its value is an error") {
  CHECK_THAT(mistake({"serve", "--port"}), Contains("--port"));
}

TEST_CASE("no arguments at all get the help and a failure") {
  CHECK_THAT(mistake({}), Contains("serve") && Contains("Examples:"));
}

// --- health, check --------------------------------------------------------------------------------------------------

TEST_CASE("health asks this machine's default port") {
  const auto command = parse({"health"});
  REQUIRE(command);
  CHECK(command->kind == Command::Kind::health);
  CHECK(command->health_url == "http://127.0.0.1:5984/_up");
  CHECK(command->health_timeout_ms == 5s);
}

TEST_CASE("health asks where the environment says the server listens, even without an admin") {
  const auto command = parse({"health"}, {{"OCTAVO_PORT", "6000"}, {"OCTAVO_BIND", "0.0.0.0"}});
  REQUIRE(command);
  CHECK(command->health_url == "http://127.0.0.1:6000/_up");
}

TEST_CASE("health asks an IPv6 address in brackets, and over TLS when the server has a certificate") {
  const auto command = parse({"health"}, {{"OCTAVO_BIND", "::"}, {"OCTAVO_TLS_CERTIFICATE", "chain.pem"}});
  REQUIRE(command);
  CHECK(command->health_url == "https://[::1]:5984/_up");
}

TEST_CASE("health takes a URL and a timeout") {
  const auto command = parse({"health", "--url", "https://db.example/_up", "--timeout", "500ms"});
  REQUIRE(command);
  CHECK(command->health_url == "https://db.example/_up");
  CHECK(command->health_timeout_ms == 500ms);
}

TEST_CASE("health refuses what is not a URL or a duration") {
  CHECK_THAT(mistake({"health", "--url", "localhost:5984"}), Contains("--url: expected http://"));
  CHECK_THAT(mistake({"health", "--url", "http://"}), Contains("--url: expected http://"));
  CHECK_THAT(mistake({"health", "--timeout", "soon"}), Contains("--timeout: expected a duration"));
  CHECK_THAT(mistake({"health", "--timeout", "0"}), Contains("--timeout: expected a duration"));
}

TEST_CASE("health with a port that is chosen at start needs the URL") {
  CHECK_THAT(mistake({"health"}, {{"OCTAVO_PORT", "0"}}), Contains("give --url"));
}

TEST_CASE("check verifies the folder and the database it is told to") {
  const auto command = parse({"check", "--data-dir", "/tmp/x", "--database", "orders"});
  REQUIRE(command);
  CHECK(command->kind == Command::Kind::check);
  CHECK(command->settings.data_dir == "/tmp/x");
  CHECK(command->check_database == "orders");
}

TEST_CASE("check verifies the configured folder when it is told none") {
  const auto command = parse({"check"}, {{"OCTAVO_DATA_DIR", "/tmp/y"}});
  REQUIRE(command);
  CHECK(command->settings.data_dir == "/tmp/y");
  CHECK(command->check_database.empty());
}

// --- Commands that print --------------------------------------------------------------------------------------------

TEST_CASE("the version is printed by command and by flag") {
  const auto expected = "octavo " + std::string(config::version()) + "\n";
  CHECK(printed({"version"}) == expected);
  CHECK(printed({"--version"}) == expected);
}

TEST_CASE("help shows every command but the hidden one, and examples") {
  const auto help = printed({"--help"});
  CHECK_THAT(help, Contains("serve") && Contains("health") && Contains("check") && Contains("completion"));
  CHECK_THAT(help, Contains("Examples:") && !Contains("config-table"));
}

TEST_CASE("config-table prints the documentation of settings") {
  CHECK(printed({"config-table"}) == config::configuration_page());
}

TEST_CASE("every shell's completion script knows commands, flags and choices") {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const auto script = printed({"completion", shell});
    INFO(shell);
    CHECK_THAT(script, Contains("health") && Contains("data-dir") && Contains("commit relaxed ephemeral"));
    CHECK_THAT(script, !Contains("config-table"));
  }
}

TEST_CASE("completion for an unknown shell is an error that lists the known ones") {
  CHECK_THAT(mistake({"completion", "tcsh"}), Contains("bash, zsh, fish"));
  CHECK_THAT(mistake({"completion"}), Contains("shell is required"));
}

TEST_CASE("every shell's completion script offers all commands and all their options, and no others") {
  const auto help = printed({"--help"});
  const auto commands = commands_in_help(help);
  REQUIRE(commands.contains("serve"));
  const auto zsh = printed({"completion", "zsh"});
  const auto fish = printed({"completion", "fish"});
  CHECK(names_between(part_between(zsh, "subcommands=(", "\n  )"), "\n    '", ":") == commands);
  CHECK(names_between(fish, "-n '__fish_use_subcommand' -a ", " ") == commands);

  const auto options = options_in_help(help);
  REQUIRE(options.contains("version"));
  CHECK(names_between(complete_in_bash("octavo --"), "--", " \n") == options);
  CHECK(names_between(part_between(zsh, "_arguments -C", "\n"), "--", "[") == options);
  CHECK(names_between(fish, "-n '__fish_use_subcommand' -l ", " ") == options);
  for (const auto& command : commands) {
    INFO(command);
    const auto own = options_in_help(printed({command.c_str(), "--help"}));
    CHECK(names_between(complete_in_bash("octavo " + command + " --"), "--", " \n") == own);
    CHECK(names_between(part_between(zsh, "\n        " + command + ")\n", ";;"), "--", "[") == own);
    CHECK(names_between(fish, "-n '__fish_seen_subcommand_from " + command + "' -l ", " ") == own);
  }
}

TEST_CASE("the bash completion script completes") {
  CHECK(complete_in_bash("octavo ser") == "serve\n");
  CHECK(complete_in_bash("octavo serve --data-d") == "--data-dir\n");
  CHECK(complete_in_bash("octavo serve --storage-durability re") == "relaxed\n");
  CHECK(complete_in_bash("octavo completion z") == "zsh\n");
  CHECK(complete_in_bash("octavo serve --port ''") == "\n");
}

TEST_CASE("the environment becomes a map") {
  const std::array<const char*, 5> variables{"A=1", "B=x=y", "C=", "broken", nullptr};
  CHECK(environment_variables(variables.data()) == Environment{{"A", "1"}, {"B", "x=y"}, {"C", ""}});
  CHECK(environment_variables(nullptr).empty());
}
