#include "config/print.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "config/setting_table.h"
#include "config/value_text.h"

namespace octavo::config {

namespace {

constexpr std::string_view mask = "\"********\"";

constexpr std::string_view page_head = R"(# Configuration

<!-- Generated: `octavo config-table > docs/configuration.md`. A test compares it with the code. -->

Everything has a default: `octavo serve` alone listens on `127.0.0.1:5984` and stores in `./data`. Settings come from three
places, each stronger than the one before:

1. a TOML file, named by `--config` or the variable `OCTAVO_CONFIG`;
2. environment variables;
3. flags of `octavo serve`.

`octavo serve --print-config` prints what they add up to, secrets masked and with the source of each, and exits. An unknown
name, a malformed value or one out of range keeps the server from starting, with a message that says where it stands and what
is allowed.

```toml
[server]
data_dir = "/var/lib/octavo"
bind = "0.0.0.0"

[admins]
ann = "correct horse battery staple"

[http]
request_body_bytes_max = "16MiB"
idle_timeout = "2m"
```

The same by environment, but for the admin's name: `OCTAVO_DATA_DIR=/var/lib/octavo OCTAVO_BIND=0.0.0.0
OCTAVO_ADMIN_USER=ann OCTAVO_ADMIN_PASSWORD_FILE=/run/secrets/ann OCTAVO_HTTP_REQUEST_BODY_BYTES_MAX=16MiB
OCTAVO_HTTP_IDLE_TIMEOUT=2m`.

- **Sizes** are `4096`, `64KiB`, `8MB`, `20GiB`; KB, MB, GB, TB are powers of 1000, KiB, MiB, GiB, TiB of 1024.
- **Durations** are `500ms`, `10s`, `2m`, `1h`, `7d`; a number without a unit is milliseconds.
- **Lists** are arrays of strings in the file, and comma-separated elsewhere; a flag for a list can be repeated.
- An **environment variable** that is empty counts as not set.
- **Secrets** (🔒) can be kept in a file of their own: add `_FILE` to the variable or `-file` to the flag. One newline at
  the file's end is not part of the secret. A flag that holds the secret itself can be seen in the list of processes.
- An address that other machines can reach needs an admin, or `--allow-public-without-auth`.
- A boolean flag needs no value: `--cors-enabled`, `--log-access=false`.
- **SIGHUP**, or `POST /_node/_local/_config/_reload`, makes a running server read its configuration again, from the same
  file and with the same arguments: the TLS certificate and key (new connections get them), the admins and the settings
  marked ↻ change at once, everything else at the next start. A configuration or certificate that cannot be used changes
  nothing; the log says what is wrong with it.
- **At run time**, admins set and delete the settings marked ↻, and other admins, by
  `PUT /_node/_local/_config/{section}/{key}` ([couchdb.md](couchdb.md#configuration)). Such values are kept in the data
  folder. File, environment and flags are stronger: what one of them says cannot be changed in this way.
)";

std::string table_code(std::string_view text) {
  return text.empty() ? "" : fmt::format("`{}`", text);
}

std::string escape_pipes(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '|') result += '\\';
    result += c;
  }
  return result;
}

std::string default_of(const Setting& setting) {
  if (setting.type == ValueType::table) return "none";
  auto text = toml_value(Draft{}, setting);
  if (text == "\"\"" || text == "[]") return "none";
  if (setting.type != ValueType::list && text.starts_with('"')) text = text.substr(1, text.size() - 2);
  return table_code(text);
}

std::string variables_of(const Setting& setting) {
  auto text = table_code(setting.environment_variable());
  if (!setting.couchdb_variable.empty()) text += " or " + table_code(setting.couchdb_variable);
  return text;
}

std::string row_of(const Setting& setting) {
  std::string key;
  if (setting.in_file) key = setting.type == ValueType::table ? "*name*" : table_code(setting.key);
  const auto allowed = allowed_values(setting);
  return fmt::format("| {}{}{} | {} | {} | {} | {} | {} | {} |\n", key, setting.secret ? " 🔒" : "",
                     setting.at_run_time ? " ↻" : "", variables_of(setting), table_code(setting.flag()),
                     type_name(setting.type), default_of(setting), setting.type == ValueType::boolean ? "" : allowed,
                     escape_pipes(setting.description));
}

}  // namespace

std::string print_config(const Settings& settings) {
  const Draft draft{settings, {}, {}};
  std::string text;
  std::string_view section;
  for (const auto& setting : setting_table()) {
    if (!setting.in_file) continue;
    if (setting.section != section) {
      text += fmt::format("{}[{}]\n", section.empty() ? "" : "\n", setting.section);
      section = setting.section;
    }
    if (setting.type == ValueType::table) {
      for (const auto& entry : draft.*std::get<std::map<std::string, std::string> Draft::*>(setting.member)) {
        text += fmt::format("{} = {}\n", quote(entry.first), mask);
      }
      continue;
    }
    const auto value = toml_value(draft, setting);
    const auto source = settings.sources.by_name.find(fmt::format("{}.{}", setting.section, setting.key));
    text += fmt::format("{} = {}{}\n", setting.key, setting.secret && value != "\"\"" ? std::string(mask) : value,
                        source == settings.sources.by_name.end() ? "" : "  # " + source->second);
  }
  return text;
}

std::string configuration_page() {
  std::string page(page_head);
  std::string_view section;
  for (const auto& setting : setting_table()) {
    if (setting.section != section) {
      section = setting.section;
      page += fmt::format("\n## [{}]\n\n{}.\n\n", section, section_description(section));
      page += "| Key | Variable | Flag | Type | Default | Allowed | What it does |\n|---|---|---|---|---|---|---|\n";
    }
    page += row_of(setting);
  }
  return page;
}

}  // namespace octavo::config
