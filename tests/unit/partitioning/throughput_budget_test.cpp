#include "partitioning/throughput/throughput_budget.h"

#include <array>

#include <catch2/catch.hpp>

#include "partitioning/throughput/consumption.h"
#include "partitioning/throughput/shared_budgets.h"

using namespace octavo;
using namespace octavo::partitioning;
using namespace std::chrono_literals;

namespace {

const ThroughputBudget::Clock::time_point start_time{1000s};
constexpr std::array<std::size_t, 2> two_partition_ids{0, 1};

}  // namespace

TEST_CASE("a budget without a rate refuses nothing") {
  ThroughputBudget budget(1);
  budget.spend(0, 1e9, start_time);
  CHECK(budget.wait(0, start_time) == 0ms);
}

TEST_CASE("a second's budget may be spent at once, and what follows waits until it is paid") {
  ThroughputBudget budget(1);
  budget.set_rate(400);
  budget.spend(0, 400, start_time);
  CHECK(budget.wait(0, start_time) == 0ms);
  budget.spend(0, 100, start_time);
  CHECK(budget.wait(0, start_time) == 250ms);
  CHECK(budget.wait(0, start_time + 249ms) == 1ms);
  CHECK(budget.wait(0, start_time + 250ms) == 0ms);
}

TEST_CASE("no more than a second's budget is kept") {
  ThroughputBudget budget(1);
  budget.set_rate(100);
  budget.spend(0, 1, start_time);
  const auto later = start_time + 60s;
  budget.spend(0, 150, later);
  CHECK(budget.wait(0, later) == 500ms);
}

TEST_CASE("over time exactly the rate is admitted") {
  ThroughputBudget budget(1);
  budget.set_rate(500);
  int admitted = 0;
  for (auto now = start_time; now < start_time + 20s; now += 1ms) {
    if (budget.wait(0, now) > 0ms) continue;
    budget.spend(0, 5, now);
    ++admitted;
  }
  CHECK(admitted >= 20 * 100);
  CHECK(admitted <= 21 * 100 + 1);
}

TEST_CASE("a request that costs far too much is waited for ten seconds, not for minutes") {
  ThroughputBudget budget(1);
  budget.set_rate(1);
  budget.spend(0, 1e6, start_time);
  CHECK(budget.wait(0, start_time) == 10s);
  budget.spend(0, 1e6, start_time);
  CHECK(budget.wait(0, start_time) == 10s);
}

TEST_CASE("shares have the same part of the rate and do not pay for each other") {
  ThroughputBudget budget(4);
  budget.set_rate(400);
  budget.spend(1, 150, start_time);
  CHECK(budget.wait(1, start_time) == 500ms);
  CHECK(budget.wait(0, start_time) == 0ms);
  CHECK(budget.wait(2, start_time) == 0ms);
}

TEST_CASE("a hot physical partition is refused while the others are served") {
  Consumption consumption(two_partition_ids, 2);
  CHECK_FALSE(consumption.is_limited());
  auto budget = std::make_shared<ThroughputBudget>(2);
  budget->set_rate(10);
  consumption.set_budget(budget);
  CHECK(consumption.admit(two_partition_ids));
  consumption.spend(0, "hot", 1000);
  const auto refused = consumption.admit(0);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::throttled);
  CHECK(refused.error().retry_after_ms > 9000);
  CHECK(consumption.admit(1));
  CHECK_FALSE(consumption.admit(two_partition_ids));
  CHECK(consumption.report(0, 5).refused == 2);
  CHECK(consumption.report(1, 5).refused == 0);
  budget->set_rate(0);
  CHECK(consumption.admit(two_partition_ids));
}

TEST_CASE("containers that share one share are refused together") {
  Consumption one(two_partition_ids, 2);
  Consumption other(two_partition_ids, 2);
  auto budget = std::make_shared<ThroughputBudget>(1);
  budget->set_rate(100);
  one.set_budget(budget);
  other.set_budget(budget);
  one.spend(1, {}, 500);
  CHECK_FALSE(other.admit(0));
}

TEST_CASE("what is spent is counted by physical partition, and the hottest keys come first") {
  Consumption consumption(two_partition_ids, 2);
  CHECK(consumption.report(0, 5).total == 0);
  for (int i = 0; i < 10; ++i) consumption.spend(0, "ann", 2.5);
  consumption.spend(0, "bob", 1);
  consumption.spend(0, {}, 100);
  const auto report = consumption.report(0, 5);
  CHECK(report.total == Approx(126));
  REQUIRE(report.hot_keys.size() == 2);
  CHECK(report.hot_keys[0].partition_key == "ann");
  CHECK(report.hot_keys[0].units == Approx(25));
  CHECK(report.hot_keys[1].partition_key == "bob");
  CHECK(consumption.report(0, 1).hot_keys.size() == 1);
  CHECK(consumption.recent_of(0, "ann").units == Approx(25));
  CHECK(consumption.recent_of(1, "ann").units == 0);
  CHECK(consumption.report(1, 5).total == 0);
}

TEST_CASE("a key that spends much is found among any number of others") {
  HotKeys keys;
  double others = 0;
  for (int i = 0; i < 20'000; ++i) {
    keys.add("key" + std::to_string(i), 1, 30);
    others += 1;
    if (i % 10 == 0) keys.add("hot", 1, 30);
  }
  const auto top = keys.top(3, 31);
  REQUIRE(top.size() == 3);
  CHECK(top[0].partition_key == "hot");
  // The sketch never says less than was spent, and says by how much it may be more.
  CHECK(top[0].units >= 2000);
  CHECK(top[0].units - top[0].error_max <= 2000);
  CHECK(top[0].error_max <= (others + 2000) / HotKeys::keys_max);
  // Per second only what is certain counts, so that none of the others looks hot.
  CHECK(top[0].per_second <= 2000.0 / 31);
  CHECK(top[0].per_second > 1000.0 / 31);
  CHECK(top[1].per_second < 100.0 / 31);
}

TEST_CASE("what was hot is forgotten after a minute") {
  HotKeys keys;
  keys.add("old", 1000, 15);
  keys.add("new", 1, 45);
  CHECK(keys.top(5, 45).size() == 2);
  keys.add("new", 1, 75);
  const auto top = keys.top(5, 75);
  REQUIRE(top.size() == 1);
  CHECK(top[0].units == 2);
  CHECK(keys.top(5, 1000).empty());
}

TEST_CASE("databases that name the same budget share it, with the rate that was set last") {
  SharedBudgets budgets;
  const auto first = budgets.budget("mall", 25'000);
  CHECK(first->shares() == 3);
  CHECK(budgets.budget("mall", 400) == first);
  CHECK(first->rate() == 25'000);
  budgets.set_rate("mall", 30'000);
  CHECK(first->rate() == 30'000);
  budgets.set_rate("unused", 1);
  CHECK(budgets.budget("other", 400) != first);
}
