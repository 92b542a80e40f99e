#include "config/load.h"

#include <random>

#include <catch2/catch.hpp>

#include "unit/config/temporary_file.h"

using namespace octavo::config;
using namespace std::chrono_literals;
using Catch::Contains;
using Catch::EndsWith;

namespace {

/// The settings from a file with this content alone.
std::expected<Settings, std::string> load_text(std::string_view content) {
  const TemporaryFile file(content);
  return load(file.path(), {}, {});
}

/// What is wrong with a file, with its name taken off: "3:8: …".
std::string error_in(std::string_view content) {
  const TemporaryFile file(content);
  const auto loaded = load(file.path(), {}, {});
  if (loaded) return "no error";
  const auto prefix = file.string() + ":";
  return loaded.error().starts_with(prefix) ? loaded.error().substr(prefix.size()) : loaded.error();
}

std::string error_with(const Environment& environment, const Flags& flags = {}) {
  const auto loaded = load(std::nullopt, environment, flags);
  return loaded ? "no error" : loaded.error();
}

}  // namespace

TEST_CASE("without any source the defaults hold") {
  const auto settings = load(std::nullopt, {}, {});
  REQUIRE(settings);
  CHECK(*settings == Settings{});
}

TEST_CASE("an empty file changes nothing") {
  const auto settings = load_text("");
  REQUIRE(settings);
  CHECK(*settings == Settings{});
}

TEST_CASE("a file sets values of every type") {
  const auto settings = load_text(R"(
[server]
data_dir = "/var/lib/octavo"
port = 6000
shutdown_timeout = 1500

[auth]
require_valid_user = true
session_timeout = "1h"
jwt_required_claims = ["exp", "iat"]

[admins]
ann = "secret"
"bob b" = "pass=word"

[http]
request_body_bytes_max = "16MiB"
request_head_bytes_max = 32768

[storage]
durability = "relaxed"

[log]
format = "json"
level = "debug"
)");
  REQUIRE(settings);
  CHECK(settings->data_dir == "/var/lib/octavo");
  CHECK(settings->port == 6000);
  CHECK(settings->shutdown_timeout_ms == 1500ms);
  CHECK(settings->require_valid_user);
  CHECK(settings->session_timeout_s == 1h);
  CHECK(settings->jwt_required_claims == std::vector<std::string>{"exp", "iat"});
  CHECK(settings->admins == std::map<std::string, std::string>{{"ann", "secret"}, {"bob b", "pass=word"}});
  CHECK(settings->request_body_bytes_max == 16 << 20);
  CHECK(settings->request_head_bytes_max == 32'768);
  CHECK(settings->durability == Durability::relaxed);
  CHECK(settings->log_format == LogFormat::json);
  CHECK(settings->log_level == "debug");
}

TEST_CASE("the environment wins over the file and flags win over both") {
  const TemporaryFile file("[server]\nport = 1001\nio_threads = 1\nworker_threads = 1\n");
  const auto settings = load(file.path(), {{"OCTAVO_PORT", "1002"}, {"OCTAVO_IO_THREADS", "2"}}, {{"--port", "1003"}});
  REQUIRE(settings);
  CHECK(settings->port == 1003);
  CHECK(settings->io_threads == 2);
  CHECK(settings->worker_threads == 1);
}

TEST_CASE("of a flag given twice the last counts") {
  const auto settings = load(std::nullopt, {}, {{"--port", "1"}, {"--port", "2"}});
  REQUIRE(settings);
  CHECK(settings->port == 2);
}

TEST_CASE("a flag for a list adds up and replaces what the file says") {
  const TemporaryFile file("[cors]\norigins = [\"https://file.example\"]\n");
  const auto settings =
      load(file.path(), {},
           {{"--cors-origins", "https://a.example, https://b.example"}, {"--cors-origins", "https://c.example"}});
  REQUIRE(settings);
  CHECK(settings->cors_origins ==
        std::vector<std::string>{"https://a.example", "https://b.example", "https://c.example"});
}

TEST_CASE("an empty environment variable counts as not set") {
  const auto settings = load(std::nullopt, {{"OCTAVO_PORT", ""}, {"COUCHDB_USER", ""}, {"COUCHDB_PASSWORD", ""}}, {});
  REQUIRE(settings);
  CHECK(*settings == Settings{});
}

TEST_CASE("variables of other programs are passed over") {
  CHECK(load(std::nullopt, {{"PATH", "/bin"}, {"COUCHDB_ERLANG_COOKIE", "x"}, {"OCTAVOX", "y"}}, {}));
}

TEST_CASE("the variable that names the configuration file is known") {
  CHECK(load(std::nullopt, {{"OCTAVO_CONFIG", "/etc/octavo.toml"}}, {}));
}

TEST_CASE("what Kubernetes says about a service called octavo is passed over") {
  const auto settings = load(std::nullopt,
                             {{"OCTAVO_PORT", "tcp://10.0.0.7:5984"},
                              {"OCTAVO_SERVICE_HOST", "10.0.0.7"},
                              {"OCTAVO_SERVICE_PORT_HTTP", "5984"},
                              {"OCTAVO_PORT_5984_TCP_ADDR", "10.0.0.7"}},
                             {});
  REQUIRE(settings);
  CHECK(settings->port == 5984);
}

// --- Admins and secrets ---------------------------------------------------------------------------------------------

TEST_CASE("an admin comes from the environment") {
  const auto settings = load(std::nullopt, {{"OCTAVO_ADMIN_USER", "ann"}, {"OCTAVO_ADMIN_PASSWORD", "secret"}}, {});
  REQUIRE(settings);
  CHECK(settings->admins == std::map<std::string, std::string>{{"ann", "secret"}});
}

TEST_CASE("an admin comes from the variables of CouchDB's container image") {
  const auto settings =
      load(std::nullopt, {{"COUCHDB_USER", "ann"}, {"COUCHDB_PASSWORD", "secret"}, {"COUCHDB_SECRET", "salt"}}, {});
  REQUIRE(settings);
  CHECK(settings->admins == std::map<std::string, std::string>{{"ann", "secret"}});
  CHECK(settings->cookie_secret == "salt");
}

TEST_CASE("an admin from the environment joins those of the file") {
  const TemporaryFile file("[admins]\nann = \"old\"\nbob = \"kept\"\n");
  const auto settings = load(file.path(), {{"OCTAVO_ADMIN_USER", "ann"}, {"OCTAVO_ADMIN_PASSWORD", "new"}}, {});
  REQUIRE(settings);
  CHECK(settings->admins == std::map<std::string, std::string>{{"ann", "new"}, {"bob", "kept"}});
}

TEST_CASE("a secret is read from a file without the newline at its end") {
  const TemporaryFile secret("two words \n", "secret");
  const auto settings = load(std::nullopt, {{"COUCHDB_USER", "ann"}, {"COUCHDB_PASSWORD_FILE", secret.string()}}, {});
  REQUIRE(settings);
  CHECK(settings->admins.at("ann") == "two words ");
}

TEST_CASE("the name of the admin is read from a file, as in CouchDB's image") {
  const TemporaryFile name("ann\n", "name");
  const TemporaryFile secret("hunter2", "secret");
  const auto settings =
      load(std::nullopt, {{"COUCHDB_USER_FILE", name.string()}, {"COUCHDB_PASSWORD_FILE", secret.string()}}, {});
  REQUIRE(settings);
  CHECK(settings->admins.at("ann") == "hunter2");
  CHECK(error_with({{"COUCHDB_USER", "ann"}, {"COUCHDB_USER_FILE", name.string()}}) ==
        "COUCHDB_USER and COUCHDB_USER_FILE are both set: keep one");
}

TEST_CASE("only one newline is taken off a secret file") {
  const TemporaryFile secret("salt\n\n", "secret");
  const auto settings = load(std::nullopt, {{"OCTAVO_COOKIE_SECRET_FILE", secret.string()}}, {});
  REQUIRE(settings);
  CHECK(settings->cookie_secret == "salt\n");
}

TEST_CASE("a secret file can be named by a flag") {
  const TemporaryFile secret("hunter2", "secret");
  const auto settings = load(std::nullopt, {}, {{"--admin-user", "ann"}, {"--admin-password-file", secret.string()}});
  REQUIRE(settings);
  CHECK(settings->admins.at("ann") == "hunter2");
}

TEST_CASE("a secret and its file are not both set") {
  const TemporaryFile secret("hunter2", "secret");
  CHECK(error_with({{"OCTAVO_COOKIE_SECRET", "a"}, {"OCTAVO_COOKIE_SECRET_FILE", secret.string()}}) ==
        "OCTAVO_COOKIE_SECRET and OCTAVO_COOKIE_SECRET_FILE are both set: keep one");
  CHECK(error_with({}, {{"--cookie-secret", "a"}, {"--cookie-secret-file", secret.string()}}) ==
        "--cookie-secret and --cookie-secret-file are both given: keep one");
}

TEST_CASE("two names of one variable are not both set") {
  CHECK(error_with({{"OCTAVO_ADMIN_USER", "a"}, {"COUCHDB_USER", "b"}}) ==
        "OCTAVO_ADMIN_USER and COUCHDB_USER are both set: keep one");
}

TEST_CASE("a flag wins over a secret file of the environment") {
  const TemporaryFile secret("from file", "secret");
  const auto settings =
      load(std::nullopt, {{"OCTAVO_COOKIE_SECRET_FILE", secret.string()}}, {{"--cookie-secret", "from flag"}});
  REQUIRE(settings);
  CHECK(settings->cookie_secret == "from flag");
}

TEST_CASE("a secret file that is missing, empty, a folder or too long is an error") {
  const TemporaryFile empty("\n", "secret");
  const TemporaryFile huge(std::string(70'000, 'x'), "secret");
  CHECK(error_with({{"OCTAVO_COOKIE_SECRET_FILE", "/no/such/file"}}) ==
        "OCTAVO_COOKIE_SECRET_FILE: cannot read /no/such/file: no such file, or no permission");
  CHECK_THAT(error_with({{"OCTAVO_COOKIE_SECRET_FILE", empty.string()}}), EndsWith("is empty"));
  CHECK_THAT(error_with({{"OCTAVO_COOKIE_SECRET_FILE", "/tmp"}}), EndsWith("it is a folder"));
  CHECK_THAT(error_with({{"OCTAVO_COOKIE_SECRET_FILE", huge.string()}}), EndsWith("is longer than 64KiB"));
}

TEST_CASE("an admin needs both a name and a password") {
  CHECK_THAT(error_with({{"COUCHDB_USER", "ann"}}), Contains("no password: set OCTAVO_ADMIN_PASSWORD"));
  CHECK_THAT(error_with({{"COUCHDB_PASSWORD", "secret"}}), Contains("no admin user: set OCTAVO_ADMIN_USER"));
}

TEST_CASE("the admin variables have no place in the file") {
  CHECK_THAT(error_in("[auth]\nadmin_user = \"ann\"\n"), Contains("2:1: auth.admin_user does not go into the file"));
}

// --- Errors ---------------------------------------------------------------------------------------------------------

TEST_CASE("an unknown setting in the file is an error with its place and a suggestion") {
  CHECK(error_in("[server]\nprot = 80\n") == "2:1: unknown setting \"server.prot\"; did you mean \"server.port\"?");
}

TEST_CASE("a setting in the wrong section is found") {
  CHECK(error_in("[http]\nport = 80\n") == "2:1: unknown setting \"http.port\"; did you mean \"server.port\"?");
  CHECK(error_in("durability = \"commit\"\n") ==
        "1:1: unknown setting outside any section \"durability\"; did you mean \"storage.durability\"?");
}

TEST_CASE("an unknown section is an error with a suggestion") {
  CHECK(error_in("[sever]\nport = 80\n") == "1:2: unknown section [sever]; did you mean \"server\"?");
}

TEST_CASE("a setting that resembles nothing gets no suggestion") {
  CHECK(error_in("[server]\nfrobnication_ratio_in_percent = 1\n") ==
        "2:1: unknown setting \"server.frobnication_ratio_in_percent\"");
}

TEST_CASE("a file that is not TOML is an error with its place") {
  CHECK_THAT(error_in("[server]\nport = \n"), Catch::StartsWith("2:8: "));
}

TEST_CASE("a file that does not exist is an error") {
  const auto settings = load("/no/such/octavo.toml", {}, {});
  REQUIRE_FALSE(settings);
  CHECK(settings.error() == "configuration file: cannot read /no/such/octavo.toml: no such file, or no permission");
}

TEST_CASE("a secret of the wrong type is not shown") {
  CHECK(error_in("[auth]\ncookie_secret = 4815162342\n").find("4815162342") == std::string::npos);
}

TEST_CASE("a value of the wrong type is an error that names both types") {
  CHECK(error_in("[server]\nport = \"80\"\n") ==
        "2:8: server.port: expected a whole number from 0 to 65535, found a string \"80\"");
  CHECK(error_in("[cors]\nenabled = 1\n") == "2:11: cors.enabled: expected true or false, found the number 1");
  CHECK(error_in("[cors]\norigins = \"*\"\n") == "2:11: cors.origins: expected a list of texts, found a string \"*\"");
  CHECK_THAT(error_in("[server]\nport = 1.5\n"), EndsWith("found a number with a fraction"));
  CHECK_THAT(error_in("[server]\nbind = { a = 1 }\n"), EndsWith("found a table"));
}

TEST_CASE("a list with anything but strings is an error") {
  CHECK_THAT(error_in("[cors]\norigins = [\"*\", 1]\n"), EndsWith("found an array"));
}

TEST_CASE("a value out of range is an error that names the range") {
  CHECK(error_in("[server]\nport = 65536\n") ==
        "2:8: server.port: expected a whole number from 0 to 65535, found \"65536\"");
  CHECK(error_in("[server]\nport = -1\n") == "2:8: server.port: expected a whole number from 0 to 65535, found \"-1\"");
  CHECK_THAT(error_in("[http]\nrequest_head_bytes_max = \"1GiB\"\n"), Contains("a size from 1KiB to 16MiB"));
  CHECK_THAT(error_in("[http]\nidle_timeout = \"25h\"\n"), Contains("a duration from 10ms to 24h"));
}

TEST_CASE("a choice that does not exist is an error that lists the choices") {
  CHECK(error_with({{"OCTAVO_STORAGE_DURABILITY", "fsync"}}) ==
        "OCTAVO_STORAGE_DURABILITY: expected one of commit, relaxed, ephemeral, found \"fsync\"");
}

TEST_CASE("a bad value of a variable or a flag is named by it") {
  CHECK(error_with({{"OCTAVO_PORT", "http"}}) ==
        "OCTAVO_PORT: expected a whole number from 0 to 65535, found \"http\"");
  CHECK(error_with({}, {{"--port", "http"}}) == "--port: expected a whole number from 0 to 65535, found \"http\"");
}

TEST_CASE("an unknown variable is an error with a suggestion") {
  CHECK(error_with({{"OCTAVO_PROT", "80"}}) ==
        "unknown environment variable OCTAVO_PROT; did you mean \"OCTAVO_PORT\"?");
  CHECK(error_with({{"OCTAVO_DURABILITY", "commit"}}) ==
        "unknown environment variable OCTAVO_DURABILITY; did you mean \"OCTAVO_STORAGE_DURABILITY\"?");
}

TEST_CASE("only a credential can be read from a file") {
  CHECK_THAT(error_with({{"OCTAVO_PORT_FILE", "/x"}}), Contains("unknown environment variable OCTAVO_PORT_FILE"));
}

TEST_CASE("an unknown flag is an error with a suggestion") {
  CHECK(error_with({}, {{"--data-dri", "x"}}) == "unknown flag --data-dri; did you mean \"--data-dir\"?");
}

TEST_CASE("a bare number for whole seconds is explained") {
  CHECK(error_in("[auth]\nsession_timeout = 600\n") ==
        "2:19: auth.session_timeout: expected whole seconds, found \"600\", which is milliseconds: write \"600s\"?");
}

TEST_CASE("an error does not repeat a secret") {
  const auto error = error_with({{"COUCHDB_PASSWORD", "hunter2"}});
  CHECK_THAT(error, !Contains("hunter2"));
}

TEST_CASE("a very long bad value is cut short") {
  CHECK(error_with({{"OCTAVO_PORT", std::string(1'000'000, 'x')}}).size() < 300);
}

TEST_CASE("a file over the limit is refused") {
  CHECK_THAT(error_in(std::string((1 << 20) + 1, '#')), EndsWith("is longer than 1MiB"));
}

TEST_CASE("a damaged file is an error or settings, never a crash") {
  const std::string sound =
      "[server]\nport = 80\n[admins]\n\"a\" = \"b\"\n[cors]\norigins = [\"*\"]\nmax_age = \"1h\"\n";
  std::mt19937 random(11);
  std::size_t refused = 0;
  for (int i = 0; i < 2'000; ++i) {
    auto damaged = sound;
    for (int edits = 0; edits < 3; ++edits) damaged[random() % damaged.size()] = static_cast<char>(random() % 256);
    if (!load_text(damaged)) ++refused;
  }
  CHECK(refused > 1'000);
}

TEST_CASE("where a setting was given is kept with it, the strongest source first") {
  const TemporaryFile file("[cors]\nmax_age = \"5m\"\ncredentials = true\n[admins]\nann = \"one\"\n");
  const auto settings =
      load(file.path(), {{"OCTAVO_CORS_MAX_AGE", "6m"}, {"COUCHDB_USER", "ben"}, {"COUCHDB_PASSWORD", "x"}},
           {{"--log-level", "warn"}});
  REQUIRE(settings);
  const auto& sources = settings->sources.by_name;
  CHECK(sources.at("cors.max_age") == "OCTAVO_CORS_MAX_AGE instead of " + file.string() + ":2");
  CHECK(sources.at("cors.credentials") == file.string() + ":3");
  CHECK(sources.at("admins.ann") == file.string() + ":5");
  CHECK(sources.at("admins.ben") == "COUCHDB_USER");
  CHECK(sources.at("log.level") == "--log-level");
  CHECK_FALSE(sources.contains("server.port"));
}
