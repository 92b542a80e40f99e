#include "config/live_settings.h"

#include <thread>

#include <catch2/catch.hpp>

using namespace octavo::config;

namespace {

Settings with_port(std::uint16_t port) {
  Settings settings;
  settings.port = port;
  return settings;
}

}  // namespace

TEST_CASE("settings that were read stay as they are when others replace them") {
  LiveSettings live(with_port(1));
  const Settings& before = live.now();
  CHECK(live.replace(with_port(2)));
  CHECK(before.port == 1);
  CHECK(live.now().port == 2);
}

TEST_CASE("equal settings are one version, so a change back and forth takes no memory") {
  LiveSettings live(with_port(1));
  const Settings* first = &live.now();
  for (std::size_t i = 0; i < LiveSettings::versions_max; ++i) {
    REQUIRE(live.replace(with_port(2)));
    REQUIRE(live.replace(with_port(1)));
  }
  CHECK(&live.now() == first);
}

TEST_CASE("the number of versions has a limit") {
  LiveSettings live(with_port(0));
  std::uint16_t port = 1;
  while (live.replace(with_port(port))) ++port;
  CHECK(port == LiveSettings::versions_max);
  CHECK(live.now().port == port - 1);
}

TEST_CASE("a value is made once for each version, and other threads find it") {
  LiveSettings live(with_port(1));
  const MadeFromSettings<int> made;
  int calls = 0;
  const auto value = [&] {
    return made.of(live.now(), [&](const Settings& settings) {
      ++calls;
      return settings.port * 10;
    });
  };
  CHECK(value() == 10);
  CHECK(value() == 10);
  live.replace(with_port(2));
  CHECK(value() == 20);
  live.replace(with_port(1));
  int elsewhere = 0;
  std::thread([&] { elsewhere = value(); }).join();
  CHECK(elsewhere == 10);
  CHECK(calls == 2);
}
