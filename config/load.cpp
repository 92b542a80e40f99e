#include "config/load.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <toml++/toml.h>

#include "config/setting_table.h"
#include "config/suggestion.h"
#include "config/validate.h"
#include "config/value_text.h"

namespace octavo::config {

namespace {

using Applied = std::expected<void, std::string>;
using Failure = std::unexpected<std::string>;
using StringTable = std::map<std::string, std::string>;

constexpr std::size_t config_file_bytes_max = 1 << 20;
constexpr std::size_t secret_file_bytes_max = 64 << 10;

std::expected<std::string, std::string> read_file(const std::filesystem::path& path, std::size_t bytes_max) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return Failure(fmt::format("cannot read {}: it is a folder", path.string()));
  std::ifstream stream(path, std::ios::binary);
  if (!stream) return Failure(fmt::format("cannot read {}: no such file, or no permission", path.string()));
  std::string content(bytes_max + 1, '\0');
  stream.read(content.data(), static_cast<std::streamsize>(content.size()));
  content.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return Failure(fmt::format("cannot read {}", path.string()));
  if (content.size() > bytes_max) {
    return Failure(fmt::format("{} is longer than {}", path.string(), format_size(bytes_max)));
  }
  return content;
}

std::expected<std::string, std::string> read_secret(const std::filesystem::path& path) {
  auto content = read_file(path, secret_file_bytes_max);
  if (!content) return content;
  // Editors and `echo` end the file with a newline, which is not part of the secret.
  if (content->ends_with('\n')) content->pop_back();
  if (content->ends_with('\r')) content->pop_back();
  if (content->empty()) return Failure(fmt::format("{} is empty", path.string()));
  return content;
}

std::string file_variable_of(std::string_view variable) {
  return std::string(variable) + "_FILE";
}
std::string secret_file_flag(const Setting& setting) {
  return setting.flag() + "-file";
}

// --- The file -------------------------------------------------------------------------------------------------------

/// Applies one parsed configuration file to a draft.
class FileReader {
 public:
  FileReader(Draft& draft, std::string name) : draft_(draft), name_(std::move(name)) {}

  Applied apply(const toml::table& root) {
    for (const auto& [key, node] : root) {
      const auto* section = node.as_table();
      if (!section) return unknown(key, key.str(), "setting outside any section");
      if (auto applied = apply_section(key, *section); !applied) return applied;
    }
    return {};
  }

 private:
  Applied apply_section(const toml::key& name, const toml::table& section) {
    const auto table = setting_table();
    const auto first = std::ranges::find(table, name.str(), &Setting::section);
    if (first == table.end()) {
      std::set<std::string> sections;
      for (const auto& setting : table) sections.insert(std::string(setting.section));
      const std::vector<std::string> candidates(sections.begin(), sections.end());
      return error(name.source(),
                   fmt::format("unknown section [{}]{}", name.str(), did_you_mean(name.str(), candidates)));
    }
    if (first->type == ValueType::table) return apply_table(*first, section);
    for (const auto& [key, node] : section) {
      const auto setting = std::ranges::find_if(table, [&](const Setting& candidate) {
        return candidate.section == name.str() && candidate.key == key.str();
      });
      const auto full_name = fmt::format("{}.{}", name.str(), key.str());
      if (setting == table.end()) return unknown(key, full_name, "setting");
      if (!setting->in_file) {
        return error(key.source(), fmt::format("{} does not go into the file; write a table instead:\n[admins]\nname = "
                                               "\"password\"",
                                               full_name));
      }
      if (auto applied = apply_value(*setting, node); !applied) {
        return error(node.source(), fmt::format("{}: {}", full_name, applied.error()));
      }
      record(full_name, node);
    }
    return {};
  }

  Applied apply_table(const Setting& setting, const toml::table& section) {
    auto& entries = draft_.*std::get<StringTable Draft::*>(setting.member);
    for (const auto& [key, node] : section) {
      const auto* value = node.as_string();
      if (!value) {
        return error(node.source(), fmt::format("{}: {}: expected a string", setting.section, quote(key.str())));
      }
      entries[std::string(key.str())] = value->get();
      record(fmt::format("{}.{}", setting.section, key.str()), node);
    }
    return {};
  }

  Applied apply_value(const Setting& setting, const toml::node& node) {
    const auto* text = node.as_string();
    const auto* number = node.as_integer();
    switch (setting.type) {
      case ValueType::boolean:
        if (const auto* value = node.as_boolean()) return assign(draft_, setting, value->get() ? "true" : "false");
        break;
      case ValueType::number:
        if (number) return assign(draft_, setting, std::to_string(number->get()));
        break;
      case ValueType::size:
      case ValueType::duration:
        if (number) return assign(draft_, setting, std::to_string(number->get()));
        if (text) return assign(draft_, setting, text->get());
        break;
      case ValueType::text:
      case ValueType::path:
      case ValueType::choice:
        if (text) return assign(draft_, setting, text->get());
        break;
      case ValueType::list:
        if (const auto* items = node.as_array(); items && (items->empty() || items->is_homogeneous<std::string>())) {
          auto& field = draft_.*std::get<std::vector<std::string> Draft::*>(setting.member);
          field.clear();
          for (const auto& item : *items) field.push_back(item.as_string()->get());
          return {};
        }
        break;
      case ValueType::table:
        break;
    }
    return Failure(
        fmt::format("expected {}, found {}", expectation(setting), setting.secret ? "something else" : describe(node)));
  }

  void record(std::string name, const toml::node& node) {
    draft_.sources.by_name[std::move(name)] = fmt::format("{}:{}", name_, node.source().begin.line);
  }

  static std::string describe(const toml::node& node) {
    if (const auto* text = node.as_string())
      return "a string" + (text->get().size() <= 40 ? " " + quote(text->get()) : "");
    if (const auto* value = node.as_integer()) return fmt::format("the number {}", value->get());
    if (const auto* value = node.as_boolean()) return value->get() ? "true" : "false";
    if (node.is_floating_point()) return "a number with a fraction";
    if (node.is_array()) return "an array";
    if (node.is_table()) return "a table";
    return "a date or time";
  }

  Applied unknown(const toml::key& key, std::string_view name, std::string_view what) {
    std::vector<std::string> candidates;
    for (const auto& setting : setting_table()) {
      if (setting.in_file && setting.type != ValueType::table) candidates.push_back(setting.toml_name());
    }
    // The same key in another section is a better suggestion than a similar name.
    for (const auto& candidate : candidates) {
      if (candidate.ends_with("." + std::string(key.str()))) {
        return error(key.source(), fmt::format("unknown {} \"{}\"; did you mean \"{}\"?", what, name, candidate));
      }
    }
    return error(key.source(), fmt::format("unknown {} \"{}\"{}", what, name, did_you_mean(name, candidates)));
  }

  Failure error(const toml::source_region& where, std::string_view message) const {
    return Failure(fmt::format("{}:{}:{}: {}", name_, where.begin.line, where.begin.column, message));
  }

  Draft& draft_;
  std::string name_;
};

Applied apply_file(Draft& draft, const std::filesystem::path& path) {
  const auto content = read_file(path, config_file_bytes_max);
  if (!content) return Failure("configuration file: " + content.error());
  try {
    const auto root = toml::parse(std::string_view(*content), path.string());
    return FileReader(draft, path.string()).apply(root);
  } catch (const toml::parse_error& error) {
    const auto& where = error.source().begin;
    return Failure(fmt::format("{}:{}:{}: {}", path.string(), where.line, where.column, error.description()));
  }
}

// --- The environment ------------------------------------------------------------------------------------------------

// Kubernetes sets variables of this form for every service of the namespace: without this check a service called
// `octavo` would keep the server from starting.
bool is_kubernetes_service_link(std::string_view name, std::string_view value) {
  if (name.find("_SERVICE_HOST") != std::string_view::npos || name.find("_SERVICE_PORT") != std::string_view::npos)
    return true;
  if (name.ends_with("_PORT") && value.find("://") != std::string_view::npos) return true;
  const auto port = name.find("_PORT_");
  return port != std::string_view::npos && name.size() > port + 6 &&
         std::isdigit(static_cast<unsigned char>(name[port + 6])) != 0;
}

struct Source {
  std::string name;
  std::string value;
  bool is_secret_file = false;
};

std::vector<Source> sources_in(const Environment& environment, const Setting& setting) {
  std::vector<Source> sources;
  for (const auto& variable : {setting.environment_variable(), std::string(setting.couchdb_variable)}) {
    if (variable.empty()) continue;
    if (const auto found = environment.find(variable);
        found != environment.end() && !found->second.empty() && !is_kubernetes_service_link(variable, found->second)) {
      sources.push_back({found->first, found->second});
    }
    if (!setting.file_variable) continue;
    if (const auto found = environment.find(file_variable_of(variable));
        found != environment.end() && !found->second.empty()) {
      sources.push_back({found->first, found->second, true});
    }
  }
  return sources;
}

Applied apply_source(Draft& draft, const Setting& setting, const Source& source) {
  if (source.is_secret_file) {
    const auto value = read_secret(source.value);
    if (!value) return Failure(fmt::format("{}: {}", source.name, value.error()));
    if (auto applied = assign(draft, setting, *value); !applied) {
      return Failure(fmt::format("{}: {}: {}", source.name, source.value, applied.error()));
    }
    return {};
  }
  if (auto applied = assign(draft, setting, source.value); !applied) {
    return Failure(fmt::format("{}: {}", source.name, applied.error()));
  }
  return {};
}

Applied refuse_unknown_variables(const Environment& environment) {
  std::vector<std::string> known{config_file_variable};
  for (const auto& setting : setting_table()) {
    if (setting.type == ValueType::table) continue;
    known.push_back(setting.environment_variable());
    if (setting.file_variable) known.push_back(file_variable_of(known.back()));
  }
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("OCTAVO_") || std::ranges::find(known, name) != known.end()) continue;
    if (is_kubernetes_service_link(name, value)) continue;
    // Compared without the common prefix, so that only the rest decides what is similar.
    std::vector<std::string> candidates;
    for (const auto& variable : known) candidates.push_back(variable.substr(7));
    const auto meant = closest(std::string_view(name).substr(7), candidates);
    return Failure(fmt::format("unknown environment variable {}{}", name,
                               meant ? fmt::format("; did you mean \"OCTAVO_{}\"?", *meant) : ""));
  }
  return {};
}

void record_source(Draft& draft, const Setting& setting, const std::string& source) {
  std::string& known = draft.sources.by_name[setting.toml_name()];
  known = known.empty() ? source : source + std::string(instead_of) + known;
}

Applied apply_environment(Draft& draft, const Environment& environment) {
  for (const auto& setting : setting_table()) {
    const auto sources = sources_in(environment, setting);
    if (sources.empty()) continue;
    if (sources.size() > 1) {
      return Failure(fmt::format("{} and {} are both set: keep one", sources[0].name, sources[1].name));
    }
    if (auto applied = apply_source(draft, setting, sources.front()); !applied) return applied;
    record_source(draft, setting, sources.front().name);
  }
  return refuse_unknown_variables(environment);
}

// --- The flags ------------------------------------------------------------------------------------------------------

Applied refuse_unknown_flags(const Flags& flags) {
  std::vector<std::string> known;
  for (const auto& setting : setting_table()) {
    if (setting.type == ValueType::table) continue;
    known.push_back(setting.flag());
    if (setting.secret) known.push_back(secret_file_flag(setting));
  }
  for (const auto& [name, value] : flags) {
    if (std::ranges::find(known, name) != known.end()) continue;
    return Failure(fmt::format("unknown flag {}{}", name, did_you_mean(name, known)));
  }
  return {};
}

Applied apply_flags(Draft& draft, const Flags& flags) {
  if (auto known = refuse_unknown_flags(flags); !known) return known;
  for (const auto& setting : setting_table()) {
    if (setting.type == ValueType::table) continue;
    std::vector<Source> sources;
    for (const auto& [name, value] : flags) {
      if (name == setting.flag()) sources.push_back({name, value});
      if (setting.secret && name == secret_file_flag(setting)) sources.push_back({name, value, true});
    }
    if (sources.empty()) continue;
    for (const auto& source : sources) {
      if (source.is_secret_file != sources.front().is_secret_file) {
        return Failure(fmt::format("{} and {} are both given: keep one", setting.flag(), secret_file_flag(setting)));
      }
    }
    Source source = sources.back();
    if (setting.type == ValueType::list) {
      source.value.clear();
      for (const auto& part : sources) source.value += part.value + ',';
    }
    if (auto applied = apply_source(draft, setting, source); !applied) return applied;
    record_source(draft, setting, source.name);
  }
  return {};
}

std::expected<Settings, std::string> finish(Draft draft) {
  if (draft.admin_user.empty() != draft.admin_password.empty()) {
    return Failure(draft.admin_password.empty()
                       ? "an admin user is named but has no password: set OCTAVO_ADMIN_PASSWORD, "
                         "OCTAVO_ADMIN_PASSWORD_FILE or COUCHDB_PASSWORD, or give --admin-password-file"
                       : "an admin password is set but no admin user: set OCTAVO_ADMIN_USER or COUCHDB_USER, or give "
                         "--admin-user");
  }
  if (!draft.admin_user.empty()) {
    draft.admins[draft.admin_user] = draft.admin_password;
    auto& sources = draft.sources.by_name;
    sources["admins." + draft.admin_user] = sources["auth.admin_user"];
  }
  return static_cast<Settings&&>(std::move(draft));
}

}  // namespace

std::expected<Settings, std::string> read_settings(const std::optional<std::filesystem::path>& file,
                                                   const Environment& environment, const Flags& flags) {
  Draft draft;
  if (file) {
    if (auto applied = apply_file(draft, *file); !applied) return Failure(applied.error());
  }
  if (auto applied = apply_environment(draft, environment); !applied) return Failure(applied.error());
  if (auto applied = apply_flags(draft, flags); !applied) return Failure(applied.error());
  return finish(std::move(draft));
}

std::expected<Settings, std::string> load(const std::optional<std::filesystem::path>& file,
                                          const Environment& environment, const Flags& flags) {
  auto settings = read_settings(file, environment, flags);
  if (!settings) return settings;
  if (auto valid = validate(*settings); !valid) return Failure(valid.error());
  return settings;
}

}  // namespace octavo::config
