// Configuration: any text as the file, the environment, the command line.
#include <expected>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/load.h"
#include "config/print.h"
#include "config/value_text.h"
#include "fuzz/packed_inputs.h"
#include "fuzz/target.h"
#include "server/commands/command_line.h"
#include "support/temporary_folder.h"

namespace {

using namespace octavo::config;
using octavo::fuzz::InputReader;
using octavo::fuzz::require;

std::filesystem::path file_path() {
  static const octavo::tests::TemporaryFolder folder;
  return folder.path() / "octavo.toml";
}

void check_values(const std::string& text) {
  if (const auto size = parse_size(text)) require(parse_size(format_size(*size)) == size, "a size reads back");
  if (const auto duration = parse_duration(text)) {
    require(parse_duration(format_duration(*duration)) == duration, "a duration reads back");
    require(duration->count() >= 0, "time does not run backwards");
  }
  if (const auto number = parse_whole_number(text)) {
    require(parse_whole_number(std::to_string(*number)) == number, "a number reads back");
  }
  (void)parse_boolean(text);
}

/// Without the source of each value, which is another line of the file once the settings have been printed.
std::expected<Settings, std::string> load_values() {
  auto settings = load(file_path(), {}, {});
  if (settings) settings->sources.by_name.clear();
  return settings;
}

void check_file(std::string_view text) {
  octavo::fuzz::write_file(file_path(), text);
  const auto settings = load_values();
  if (!settings) {
    require(!settings.error().empty(), "a refusal has a reason");
    return;
  }
  if (!settings->admins.empty() || !settings->jwt_keys.empty()) return;  // secrets are masked when printed
  const std::string printed = print_config(*settings);
  if (printed.find("***") != std::string::npos) return;
  octavo::fuzz::write_file(file_path(), printed);
  const auto again = load_values();
  require(again.has_value(), "printed settings can be read");
  require(print_config(*again) == printed, "and are the same");
}

/// Arguments by lines; nothing of the real environment, no files but the one above.
void check_command_line(InputReader in) {
  std::vector<std::string> words{"octavo"};
  std::map<std::string, std::string> environment;
  while (!in.empty()) {
    const std::string line(in.line());
    if (line.find('\0') != std::string::npos) continue;
    const std::size_t equals = line.find('=');
    if (line.starts_with("OCTAVO_") && equals != std::string::npos) {
      environment[line.substr(0, equals)] = line.substr(equals + 1);
    } else {
      words.push_back(line);
    }
    check_values(line.substr(equals == std::string::npos ? 0 : equals + 1));
  }
  // Devices and other people's files are not to be read.
  for (const auto& word : words) {
    if (word.find('/') != std::string::npos) return;
  }
  for (const auto& [name, value] : environment) {
    if (value.find('/') != std::string::npos) return;
  }
  std::vector<const char*> arguments;
  for (const auto& word : words) arguments.push_back(word.c_str());
  const auto command =
      octavo::server::parse_command_line(static_cast<int>(arguments.size()), arguments.data(), environment);
  if (command) return;
  require(command.error().text.ends_with('\n'), "a message is a line");
  require(command.error().code == 0 || command.error().code == 2, "a mistake in the arguments is a 2");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  InputReader in(octavo::fuzz::text_of(data, size));
  if (in.byte() & 1) {
    check_file(in.rest());
  } else {
    check_command_line(in);
  }
  return 0;
}
