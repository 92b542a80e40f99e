#include "api/http/trusted_host.h"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

using octavo::api::is_trusted_host;

TEST_CASE("names that cannot be registered are trusted hosts") {
  for (const auto* host : {"localhost", "localhost:5984", "LOCALHOST", "octavo:5984", "app.localhost", "localhost.",
                           "host.docker.internal:5984", ""}) {
    CAPTURE(host);
    CHECK(is_trusted_host(host, {}));
  }
}

TEST_CASE("addresses are trusted hosts") {
  for (const auto* host : {"127.0.0.1:5984", "192.168.0.7", "[::1]:5984", "[fe80::1]"}) {
    CAPTURE(host);
    CHECK(is_trusted_host(host, {}));
  }
}

TEST_CASE("names that can be registered are no trusted hosts") {
  for (const auto* host : {"evil.example", "evil.example:5984", "localhost.evil.example", "127.0.0.1.evil.example",
                           "evil-localhost.com", "internal.com", "127.0.0", "xlocalhost.com."}) {
    CAPTURE(host);
    CHECK_FALSE(is_trusted_host(host, {}));
  }
}

TEST_CASE("a name that the settings allow is a trusted host with any port and case") {
  const std::vector<std::string> allowed{"db.example.com"};
  CHECK(is_trusted_host("DB.example.com:443", allowed));
  CHECK_FALSE(is_trusted_host("x.db.example.com", allowed));
}
