#include "server/command_line_completion.h"

#include <algorithm>
#include <vector>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace octavo::server {

namespace {

struct Argument {
  std::string name;  ///< "--port"; empty for a positional
  std::string description;
  bool takes_value = false;
  bool is_path = false;
  std::vector<std::string> words;  ///< all values there are, when they are few
};

struct Subcommand {
  std::string name;
  std::string description;
  std::vector<Argument> arguments;
};

std::vector<std::string> split_words(const std::string& type_name) {
  std::vector<std::string> words;
  if (type_name.find('|') == std::string::npos) return words;
  std::size_t begin = 0;
  while (begin <= type_name.size()) {
    const auto end = std::min(type_name.find('|', begin), type_name.size());
    words.push_back(type_name.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::vector<Argument> arguments_of(const CLI::App& app) {
  std::vector<Argument> arguments;
  for (const auto* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    const auto type_name = option->get_type_name();
    Argument argument{.name = "",
                      .description = option->get_description(),
                      .takes_value = option->get_items_expected_max() > 0 && option->get_type_size_max() > 0,
                      .is_path = type_name == "PATH",
                      .words = split_words(type_name)};
    if (option->get_lnames().empty()) {
      arguments.push_back(argument);
    }
    for (const auto& name : option->get_lnames()) {
      argument.name = "--" + name;
      arguments.push_back(argument);
    }
  }
  return arguments;
}

std::vector<Subcommand> subcommands_of(const CLI::App& app) {
  std::vector<Subcommand> subcommands;
  for (const auto* subcommand : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (subcommand->get_group().empty()) continue;
    subcommands.push_back({subcommand->get_name(), subcommand->get_description(), arguments_of(*subcommand)});
  }
  return subcommands;
}

std::string escape(std::string_view text, std::string_view special) {
  std::string result;
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (special.find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

// Everything that can follow the subcommand: its flags and the words of its positionals.
std::vector<std::string> words_after(const std::vector<Argument>& arguments) {
  std::vector<std::string> words;
  for (const auto& argument : arguments) {
    if (argument.name.empty()) {
      words.insert(words.end(), argument.words.begin(), argument.words.end());
    } else {
      words.push_back(argument.name);
    }
  }
  return words;
}

std::string bash_script(const CLI::App& app) {
  const auto subcommands = subcommands_of(app);
  std::vector<std::string> names;
  for (const auto& subcommand : subcommands) names.push_back(subcommand.name);

  std::string values;
  std::string flags;
  for (const auto& [name, description, arguments] : subcommands) {
    for (const auto& argument : arguments) {
      if (argument.name.empty() || !argument.takes_value) continue;
      std::string offer;
      if (!argument.words.empty()) {
        offer = fmt::format("-W \"{}\"", fmt::join(argument.words, " "));
      } else if (argument.is_path) {
        offer = "-f";
      }
      values += fmt::format("    \"{} {}\")", name, argument.name);
      if (!offer.empty()) values += fmt::format(" mapfile -t COMPREPLY < <(compgen {} -- \"$current\");", offer);
      values += " return ;;\n";
    }
    flags += fmt::format("    {}) words=\"{}\" ;;\n", name, fmt::join(words_after(arguments), " "));
  }
  return fmt::format(R"(# bash completion for octavo. To use it: source <(octavo completion bash)
_octavo() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD - 1]}}" command="" word words
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in
      {0}) command="$word"; break ;;
    esac
  done
  COMPREPLY=()
  case "$command $previous" in
{1}  esac
  case "$command" in
    "") words="{2} {3}" ;;
{4}  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}}
complete -o filenames -F _octavo octavo
)",
                     fmt::join(names, "|"), values, fmt::join(names, " "),
                     fmt::join(words_after(arguments_of(app)), " "), flags);
}

std::string zsh_argument(const Argument& argument) {
  std::string action;
  if (!argument.words.empty()) {
    action = fmt::format("({})", fmt::join(argument.words, " "));
  } else if (argument.is_path) {
    action = "_files";
  }
  if (argument.name.empty()) return fmt::format("'1:{}:{}'", escape(argument.description, ":"), action);
  const auto described = fmt::format("{}[{}]", argument.name, escape(argument.description, "[]\\:"));
  // `*`: an option may be given again.
  return argument.takes_value ? fmt::format("'*{}:value:{}'", described, action) : fmt::format("'{}'", described);
}

std::string zsh_script(const CLI::App& app) {
  std::string described;
  std::string cases;
  for (const auto& [name, description, arguments] : subcommands_of(app)) {
    described += fmt::format("    '{}:{}'\n", name, escape(description, ":"));
    cases += fmt::format("        {})\n          _arguments", name);
    for (const auto& argument : arguments) cases += " \\\n            " + zsh_argument(argument);
    cases += "\n          ;;\n";
  }
  std::string own;
  for (const auto& argument : arguments_of(app)) own += fmt::format(" {}", zsh_argument(argument));
  return fmt::format(R"(#compdef octavo
# zsh completion for octavo. To use it: octavo completion zsh > "${{fpath[1]}}/_octavo"
_octavo() {{
  local state
  local -a subcommands
  subcommands=(
{0}  )
  _arguments -C{1} '1:command:->command' '*::argument:->arguments'
  case $state in
    command) _describe command subcommands ;;
    arguments)
      case $words[1] in
{2}      esac
      ;;
  esac
}}
if [ "$funcstack[1]" = "_octavo" ]; then
  _octavo "$@"
else
  compdef _octavo octavo
fi
)",
                     described, own, cases);
}

std::string fish_script(const CLI::App& app) {
  std::string script =
      "# fish completion for octavo. To use it: octavo completion fish > ~/.config/fish/completions/octavo.fish\n"
      "complete -c octavo -f\n";
  const auto add = [&](const std::string& condition, const Argument& argument) {
    script += fmt::format("complete -c octavo -n '{}'", condition);
    if (!argument.name.empty()) script += fmt::format(" -l {}", argument.name.substr(2));
    if (argument.is_path) {
      script += " -r -F";
    } else if (argument.takes_value && !argument.name.empty()) {
      script += " -x";
    }
    if (!argument.words.empty()) script += fmt::format(" -a '{}'", fmt::join(argument.words, " "));
    script += fmt::format(" -d '{}'\n", escape(argument.description, "\\"));
  };
  for (const auto& argument : arguments_of(app)) add("__fish_use_subcommand", argument);
  for (const auto& [name, description, arguments] : subcommands_of(app)) {
    script +=
        fmt::format("complete -c octavo -n '__fish_use_subcommand' -a {} -d '{}'\n", name, escape(description, "\\"));
    for (const auto& argument : arguments) add("__fish_seen_subcommand_from " + name, argument);
  }
  return script;
}

}  // namespace

std::string completion_script(const CLI::App& app, std::string_view shell) {
  if (shell == "bash") return bash_script(app);
  if (shell == "zsh") return zsh_script(app);
  if (shell == "fish") return fish_script(app);
  return "";
}

}  // namespace octavo::server
