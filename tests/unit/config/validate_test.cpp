#include "config/validate.h"

#include <catch2/catch.hpp>

#include "unit/config/temporary_file.h"

using namespace octavo::config;
using Catch::Contains;
using Catch::StartsWith;

namespace {

std::string problem(const Settings& settings) {
  const auto valid = validate(settings);
  return valid ? "none" : valid.error();
}

}  // namespace

TEST_CASE("the defaults are valid") {
  CHECK(problem({}) == "none");
}

TEST_CASE("loopback addresses are known") {
  CHECK(is_loopback("127.0.0.1"));
  CHECK(is_loopback("127.1.2.3"));
  CHECK(is_loopback("::1"));
  CHECK(is_loopback("::ffff:127.0.0.1"));
}

TEST_CASE("other addresses are not loopback") {
  CHECK_FALSE(is_loopback("0.0.0.0"));
  CHECK_FALSE(is_loopback("::"));
  CHECK_FALSE(is_loopback("192.168.0.1"));
  CHECK_FALSE(is_loopback("::2"));
  CHECK_FALSE(is_loopback("128.0.0.1"));
  CHECK_FALSE(is_loopback(""));
}

TEST_CASE("a public address without an admin is refused with what to do") {
  Settings settings;
  settings.bind = "0.0.0.0";
  const auto message = problem(settings);
  CHECK_THAT(message, StartsWith("server.bind: 0.0.0.0 can be reached from other machines, but there is no admin"));
  CHECK_THAT(message, Contains("OCTAVO_ADMIN_USER"));
  CHECK_THAT(message, Contains("--allow-public-without-auth"));
}

TEST_CASE("a public address with an admin is fine") {
  Settings settings;
  settings.bind = "::";
  settings.admins["ann"] = "secret";
  CHECK(problem(settings) == "none");
}

TEST_CASE("a public address without an admin can be allowed") {
  Settings settings;
  settings.bind = "10.0.0.1";
  settings.allow_public_without_auth = true;
  CHECK(problem(settings) == "none");
}

TEST_CASE("a bind that is not an IP address is refused") {
  Settings settings;
  settings.bind = "localhost";
  CHECK_THAT(problem(settings), StartsWith("server.bind: \"localhost\" is not an IP address; use 127.0.0.1"));
}

TEST_CASE("an account key is base64, or the name of the emulator's") {
  Settings settings;
  settings.cosmos_key = "emulator";
  CHECK(problem(settings) == "none");
  settings.cosmos_key = "short";
  CHECK_THAT(problem(settings), StartsWith("cosmos.key: expected at least 16 random bytes in base64"));
  settings.cosmos_key.clear();
  settings.cosmos_read_only_key = "emulator";
  CHECK_THAT(problem(settings), StartsWith("cosmos.read_only_key"));
}

TEST_CASE("a certificate needs a key and a key needs a certificate") {
  Settings only_certificate;
  only_certificate.tls_certificate = "chain.pem";
  CHECK(problem(only_certificate) == "tls.certificate is set but tls.key is not: HTTPS needs both");
  Settings only_key;
  only_key.tls_key = "key.pem";
  CHECK(problem(only_key) == "tls.key is set but tls.certificate is not: HTTPS needs both");
}

TEST_CASE("TLS files that cannot be read are named") {
  const TemporaryFile certificate("pem", "chain.pem");
  Settings settings;
  settings.tls_certificate = certificate.path();
  settings.tls_key = "/no/such/key.pem";
  CHECK(problem(settings) == "tls.key: cannot read the file /no/such/key.pem");
  settings.tls_key = certificate.path();
  CHECK(problem(settings) == "none");
}

TEST_CASE("a folder for exports is outside of the data folder, and so is one for backups") {
  const auto [name, folder] = GENERATE(std::pair("analytics.export_folder: ", &Settings::analytics_export_folder),
                                       std::pair("backup.folder: ", &Settings::backup_folder));
  Settings settings;
  settings.data_dir = "/srv/octavo/data";
  settings.*folder = "/srv/octavo/data-exports";
  CHECK(problem(settings) == "none");
  for (const char* inside : {"/srv/octavo/data", "/srv/octavo/data/exports", "/srv/octavo/other/../data/x"}) {
    settings.*folder = inside;
    CHECK_THAT(problem(settings), StartsWith(name) && Contains("outside of it"));
  }
}

TEST_CASE("an admin name that cannot log in is refused") {
  Settings settings;
  settings.admins["a:b"] = "secret";
  CHECK(problem(settings) == "admins: \"a:b\": a name cannot hold a colon");
  settings.admins = {{"", "secret"}};
  CHECK(problem(settings) == "admins: a name is empty");
  settings.admins = {{"a\nb", "secret"}};
  CHECK(problem(settings) == "admins: \"a\\nb\": a name cannot hold control characters");
}

TEST_CASE("an empty admin password is refused") {
  Settings settings;
  settings.admins["ann"] = "";
  CHECK(problem(settings) == "admins: the password of \"ann\" is empty");
}

TEST_CASE("JWT keys are checked for their algorithm and form") {
  Settings settings;
  settings.jwt_keys = {{"hs256:main", "c2VjcmV0"},
                       {"hs512:main", "c2VjcmV0"},
                       {"rs256:main", "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n"}};
  CHECK(problem(settings) == "none");
  settings.jwt_keys = {{"hs999:main", "c2VjcmV0"}};
  CHECK_THAT(problem(settings), StartsWith("jwt_keys: \"hs999:main\": a name is an algorithm and a key id"));
  settings.jwt_keys = {{"main", "c2VjcmV0"}};
  CHECK_THAT(problem(settings), StartsWith("jwt_keys: \"main\": a name is an algorithm and a key id"));
  settings.jwt_keys = {{"hs256:main", "not base64!"}};
  CHECK(problem(settings) == "jwt_keys: \"hs256:main\": expected a base64 secret");
  settings.jwt_keys = {{"es256:main", "c2VjcmV0"}};
  CHECK_THAT(problem(settings), Contains("expected a PEM public key"));
}

TEST_CASE("CORS without an origin is refused") {
  Settings settings;
  settings.cors_enabled = true;
  CHECK_THAT(problem(settings), Contains("set cors.origins"));
  settings.cors_origins = {"*"};
  CHECK(problem(settings) == "none");
}

TEST_CASE("a CORS origin is a scheme, a host and perhaps a port") {
  Settings settings;
  settings.cors_origins = {"https://app.example.com:8443", "http://localhost"};
  CHECK(problem(settings) == "none");
  settings.cors_origins = {"https://app.example.com/"};
  CHECK_THAT(problem(settings), Contains("is not an origin"));
  settings.cors_origins = {"app.example.com"};
  CHECK_THAT(problem(settings), Contains("is not an origin"));
}

TEST_CASE("an allowed host is a name without scheme and port") {
  Settings settings;
  settings.allowed_hosts = {"db.example.com"};
  CHECK(problem(settings) == "none");
  for (const auto* host : {"https://db.example.com", "db.example.com:5984", "*", ""}) {
    settings.allowed_hosts = {host};
    CHECK_THAT(problem(settings), Contains("is not the name of a host"));
  }
}

TEST_CASE("limits that contradict each other are refused") {
  Settings partitions;
  partitions.default_q = 65;
  CHECK(problem(partitions) == "database.default_q: 65 is more than database.q_max (64)");
  Settings documents;
  documents.document_bytes_max = 128 << 20;
  CHECK_THAT(problem(documents),
             StartsWith("database.document_bytes_max: 128MiB is more than http.request_body_bytes_max"));
}
