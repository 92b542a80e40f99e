#include "partitioning/throughput/point_requests.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

using octavo::partitioning::PointRequests;

TEST_CASE("one point request in 64 is recorded on average, whatever the order of a load") {
  PointRequests requests;
  constexpr int count = 200'000;
  // Two kinds in turn: a fixed gap of an even length would meet one of them only.
  for (int i = 0; i < count; ++i) {
    requests.note(i % 2 == 0 ? "even" : "odd", PointRequests::Kind::read, 1);
  }
  const auto recorded = requests.recorded();
  // 3,125 expected; the gaps from 1 to 127 have a standard deviation of 37, so 56 in all: within six of these.
  CHECK(std::abs(static_cast<double>(recorded.size()) - count / 64.0) < 6 * 37 * std::sqrt(count / 64.0) / 64);
  std::size_t even = 0;
  for (const auto& entry : recorded) even += entry.document == PointRequests::hash_of("even") ? 1 : 0;
  CHECK(std::abs(static_cast<double>(even) / static_cast<double>(recorded.size()) - 0.5) < 0.06);
}

TEST_CASE("what was recorded has no id, its kind and its charge") {
  PointRequests requests;
  requests.add(PointRequests::hash_of("ann"), PointRequests::Kind::write, 5.5);
  requests.add(PointRequests::hash_of(std::string(1'000, 'x') + "1"), PointRequests::Kind::read, 1);
  const auto recorded = requests.recorded();
  REQUIRE(recorded.size() == 2);
  CHECK(recorded[0].kind == PointRequests::Kind::write);
  CHECK(recorded[0].request_units == 5.5F);
  CHECK(recorded[0].second > 1'600'000'000);
  CHECK(recorded[1].document != PointRequests::hash_of(std::string(1'000, 'x') + "2"));
}

TEST_CASE("the last point requests are kept, and those of a database that is not used are dropped") {
  PointRequests requests;
  for (std::size_t i = 0; i < PointRequests::kept_max + 10; ++i) requests.add(i, PointRequests::Kind::read, 1);
  const auto recorded = requests.recorded();
  REQUIRE(recorded.size() == PointRequests::kept_max);
  CHECK(recorded.front().document == 10);
  CHECK(recorded.back().document == PointRequests::kept_max + 9);
  requests.forget_if_idle();
  CHECK(requests.recorded().size() == PointRequests::kept_max);
  requests.forget_if_idle();
  CHECK(requests.recorded().empty());
}

TEST_CASE("at most so many databases are recorded at once, and a forgotten one makes room") {
  std::vector<std::unique_ptr<PointRequests>> many;
  for (std::size_t i = 0; i < PointRequests::rings_max; ++i) {
    many.push_back(std::make_unique<PointRequests>());
    many.back()->add(1, PointRequests::Kind::read, 1);
  }
  PointRequests further;
  further.add(1, PointRequests::Kind::read, 1);
  CHECK(further.recorded().empty());
  many.pop_back();
  further.add(1, PointRequests::Kind::read, 1);
  CHECK(further.recorded().size() == 1);
}
