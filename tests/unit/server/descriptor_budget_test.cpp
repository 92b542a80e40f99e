#include "server/connection/descriptor_budget.h"

#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::server;

namespace {

constexpr std::size_t descriptors_of_partition = 3;

std::size_t needed(const config::Settings& settings, std::size_t descriptors) {
  return settings.connections_max + settings.open_partitions_max * descriptors_of_partition +
         rejected_lingering_max(descriptors);
}

}  // namespace

TEST_CASE("where descriptors abound, the settings stay as they are") {
  config::Settings settings;
  CHECK_FALSE(fit_to_descriptors(settings, 1'000'000));
  CHECK(settings == config::Settings{});
}

TEST_CASE("with few descriptors, connections and partitions share them") {
  for (const std::size_t descriptors : {256, 1024, 4096, 20'000}) {
    config::Settings settings;
    CHECK(fit_to_descriptors(settings, descriptors));
    CHECK(needed(settings, descriptors) < descriptors);
    CHECK(settings.connections_max > descriptors / 5);
    CHECK(settings.open_partitions_max >= std::min<std::size_t>(500, descriptors / 16));
  }
}

TEST_CASE("with hardly any descriptors, a server still serves") {
  config::Settings settings;
  CHECK(fit_to_descriptors(settings, 64));
  CHECK(settings.connections_max >= 1);
  CHECK(settings.open_partitions_max >= 1);
}

TEST_CASE("what was set lower than the system allows stays") {
  config::Settings settings;
  settings.connections_max = 50;
  settings.open_partitions_max = 10;
  CHECK_FALSE(fit_to_descriptors(settings, 1024));
  CHECK(settings.connections_max == 50);
  CHECK(settings.open_partitions_max == 10);
}
