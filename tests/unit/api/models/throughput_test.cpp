// The lowest throughput that a container may have, which grows with its data.
#include "api/models/throughput.h"

#include <catch2/catch.hpp>

namespace octavo::api::cosmos {
namespace {

constexpr std::uint64_t GiB = 1ULL << 30;

}  // namespace

TEST_CASE("the lowest throughput is 1 RU/s for each GB, in steps of 100, and at least 400") {
  CHECK(lowest_throughput(0, false).manual == 400);
  CHECK(lowest_throughput(400 * GiB, false).manual == 400);
  CHECK(lowest_throughput(400 * GiB + 1, false).manual == 500);
  CHECK(lowest_throughput(12'345 * GiB, false).manual == 12'400);
}

TEST_CASE("the lowest maximum of autoscale is ten times that, in steps of 1,000, and at least 1,000") {
  CHECK(lowest_throughput(0, true).autoscale_max == 1'000);
  CHECK(lowest_throughput(100 * GiB, true).autoscale_max == 1'000);
  CHECK(lowest_throughput(101 * GiB, true).autoscale_max == 2'000);
}

TEST_CASE("a throughput that is too low for the data is refused with what is allowed") {
  CHECK(check_lowest({.manual = 500}, 500 * GiB));
  const auto refused = check_lowest({.manual = 400}, 500 * GiB);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::bad_request);
  CHECK(refused.error().reason ==
        "The offer should have valid throughput values between 500 and 1000000 inclusive in increments of 100. The "
        "stored data needs at least 1 RU/s for each GB.");
  CHECK_FALSE(check_lowest({.autoscale_max = 4'000}, 500 * GiB));
  CHECK(check_lowest({.autoscale_max = 5'000}, 500 * GiB));
}

}  // namespace octavo::api::cosmos
