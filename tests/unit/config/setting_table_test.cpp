#include "config/setting_table.h"

#include <limits>
#include <set>

#include <catch2/catch.hpp>

#include "config/load.h"
#include "config/print.h"
#include "support/test_files.h"
#include "unit/config/temporary_file.h"

using namespace octavo::config;
using Catch::Contains;

namespace {

const Setting& find(std::string_view toml_name) {
  for (const auto& setting : setting_table()) {
    if (setting.toml_name() == toml_name) return setting;
  }
  throw std::runtime_error("no such setting");
}

std::string read_whole_file(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

TEST_CASE("the names of a setting follow from its section and key") {
  CHECK(find("http.request_body_bytes_max").environment_variable() == "OCTAVO_HTTP_REQUEST_BODY_BYTES_MAX");
  CHECK(find("http.request_body_bytes_max").flag() == "--http-request-body-bytes-max");
  CHECK(find("tls.certificate").flag() == "--tls-certificate");
}

TEST_CASE("server and auth settings go without their section") {
  CHECK(find("server.data_dir").environment_variable() == "OCTAVO_DATA_DIR");
  CHECK(find("server.data_dir").flag() == "--data-dir");
  CHECK(find("auth.cookie_secret").environment_variable() == "OCTAVO_COOKIE_SECRET");
}

TEST_CASE("no two settings share a name") {
  std::set<std::string> names;
  for (const auto& setting : setting_table()) {
    CHECK(names.insert(setting.toml_name()).second);
    if (setting.type == ValueType::table) continue;
    CHECK(names.insert(setting.flag()).second);
    CHECK(names.insert(setting.environment_variable()).second);
  }
}

TEST_CASE("settings of one section stand together") {
  std::set<std::string_view> finished;
  std::string_view current;
  for (const auto& setting : setting_table()) {
    if (setting.section == current) continue;
    INFO(setting.section);
    CHECK_FALSE(finished.contains(setting.section));
    CHECK_FALSE(section_description(setting.section).empty());
    finished.insert(current);
    current = setting.section;
  }
}

TEST_CASE("the range of every setting fits its field") {
  for (const auto& setting : setting_table()) {
    INFO(setting.toml_name());
    std::visit(
        [&]<class T>(T Draft::*) {
          if constexpr (std::is_unsigned_v<T> && !std::is_same_v<T, bool>) {
            CHECK(setting.min < setting.max);
            CHECK(setting.max <= std::numeric_limits<T>::max());
          }
        },
        setting.member);
  }
}

TEST_CASE("every default is a value its setting accepts") {
  for (const auto& setting : setting_table()) {
    if (setting.type == ValueType::table || setting.type == ValueType::list) continue;
    auto text = toml_value(Draft{}, setting);
    if (text.starts_with('"')) text = text.substr(1, text.size() - 2);
    INFO(setting.toml_name() << " = " << text);
    Draft draft;
    CHECK(assign(draft, setting, text));
    CHECK(draft == Draft{});
  }
}

TEST_CASE("every setting can be set by its variable and by its flag") {
  for (const auto& setting : setting_table()) {
    if (setting.type == ValueType::table || !setting.in_file) continue;
    const auto value = toml_value(Draft{}, setting);
    auto text = value;
    if (value.starts_with('"')) text = value.substr(1, value.size() - 2);
    if (value.starts_with('[')) text = "a,b";
    INFO(setting.toml_name());
    CHECK(read_settings(std::nullopt, {{setting.environment_variable(), text}}, {}));
    CHECK(read_settings(std::nullopt, {}, {{setting.flag(), text}}));
  }
}

TEST_CASE("the printed configuration reads back as the same settings") {
  Settings settings;
  settings.data_dir = "/tmp/a \"quoted\" folder";
  settings.port = 0;
  settings.log_format = LogFormat::json;
  settings.durability = Durability::relaxed;
  settings.cors_origins = {"https://a.example", "https://b.example"};
  settings.header_timeout_ms = std::chrono::milliseconds(1234);
  settings.map_bytes_initial = 3ULL << 30;
  const TemporaryFile file(print_config(settings));
  const auto read = read_settings(file.path(), {}, {});
  REQUIRE(read);
  CHECK(*read == settings);
}

TEST_CASE("the printed configuration masks secrets") {
  Settings settings;
  settings.admins["ann"] = "hunter2";
  settings.cookie_secret = "salt-and-pepper";
  settings.jwt_keys["hs256:main"] = "c2VjcmV0";
  const auto text = print_config(settings);
  CHECK_THAT(text, Contains("\"ann\" = \"********\""));
  CHECK_THAT(text, Contains("cookie_secret = \"********\""));
  CHECK_THAT(text, Contains("\"hs256:main\" = \"********\""));
  CHECK_THAT(text, !Contains("hunter2") && !Contains("pepper") && !Contains("c2VjcmV0"));
}

TEST_CASE("the documentation of settings is what the code generates") {
  const auto page = octavo::tests::files() / "../docs/configuration.md";
  INFO("to renew it: octavo config-table > docs/configuration.md");
  const bool is_current = read_whole_file(page) == configuration_page();  // a bool: the page is too long to print
  CHECK(is_current);
}
