#include "query/walk/plan_turns.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <catch2/catch.hpp>

using namespace octavo::query;

namespace {

struct Price {
  double expected;
  double most;
};

std::vector<Plan> plans_of(const std::vector<Price>& prices, bool last_sorts = false) {
  std::vector<Plan> plans(prices.size());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i].expected = prices[i].expected;
    plans[i].most = prices[i].most;
  }
  plans.back().sort_in_memory = last_sorts;
  return plans;
}

/// What a query costs when plan i is done once it has cost `needs[i]`.
double cost_of(PlanTurns turns, const std::vector<double>& needs) {
  std::vector<double> spent(needs.size(), 0);
  while (true) {
    // Each plan says that it has nearly found all.
    const std::size_t plan = turns.current();
    if (needs[plan] <= turns.allowed()) {
      spent[plan] = std::max(spent[plan], needs[plan]);
      break;
    }
    REQUIRE(turns.allowed() > spent[plan]);
    spent[plan] = turns.allowed();
    turns.end_turn(spent[plan], 0.99);
  }
  double sum = 0;
  for (const double one : spent) sum += one;
  return sum;
}

}  // namespace

TEST_CASE("one plan runs to its end") {
  const PlanTurns turns(plans_of({{5, 100}}), 0);
  CHECK(std::isinf(turns.allowed()));
}

TEST_CASE("a walk in order has half of what sorting costs, a quarter where it is expected to cost more") {
  CHECK(PlanTurns(plans_of({{5, 900}, {100, 100}}, true), 1).allowed() == 50);
  CHECK(PlanTurns(plans_of({{90, 900}, {100, 100}}, true), 1).allowed() == 50);
  CHECK(PlanTurns(plans_of({{500, 900}, {100, 100}}, true), 1).allowed() == 25);
  CHECK(PlanTurns(plans_of({{0.1, 900}, {0.5, 0.5}}, true), 1).allowed() == 1);
}

TEST_CASE("a walk in order that has spent its budget is left for good") {
  PlanTurns turns(plans_of({{5, 900}, {100, 100}}, true), 1);
  REQUIRE(turns.current() == 0);
  CHECK(turns.end_turn(50));
  CHECK(turns.current() == 1);
  CHECK(std::isinf(turns.allowed()));
}

TEST_CASE("a walk in order gets a quarter of what sorting costs while that will fill the page") {
  PlanTurns turns(plans_of({{5, 900}, {100, 100}}, true), 1);
  CHECK_FALSE(turns.end_turn(50, 0.7));
  CHECK(turns.current() == 0);
  CHECK(turns.allowed() == 75);
  CHECK_FALSE(turns.end_turn(75, 0.8));
  CHECK(turns.allowed() == 100);
  CHECK(turns.end_turn(100, 0.99));
  CHECK(turns.current() == 1);
}

TEST_CASE("a walk in order that has found too little for its budget has no more") {
  PlanTurns turns(plans_of({{5, 900}, {100, 100}}, true), 1);
  CHECK(turns.end_turn(50, 0.6));
}

TEST_CASE("what a walk has spent on pages that were not full counts") {
  const auto plans = plans_of({{5, 900}, {100, 100}}, true);
  CHECK(PlanTurns(plans, 1, {30, 0}).current() == 0);
  CHECK(PlanTurns(plans, 1, {50, 0}).current() == 1);
}

TEST_CASE("a walk that stays has no limit") {
  PlanTurns turns(plans_of({{5, 900}, {100, 100}}, true), 1);
  turns.stay();
  CHECK(turns.current() == 0);
  CHECK(std::isinf(turns.allowed()));
}

TEST_CASE("no query costs more than 1.5 times the bound, or twice where a walk was nearly done, and a request unit") {
  std::mt19937 random(7);
  const auto any = [&](double most) { return std::exp(std::uniform_real_distribution(-2.0, std::log(most))(random)); };
  for (int round = 0; round < 20'000; ++round) {
    std::vector<Price> prices(1 + random() % 4);
    for (auto& price : prices) {
      price.most = any(1e5);
      price.expected = std::min(price.most, any(1e5));
    }
    std::ranges::sort(prices, {}, &Price::expected);
    const auto sure = static_cast<std::size_t>(std::ranges::min_element(prices, {}, &Price::most) - prices.begin());
    const bool sorts = prices.size() == 2 && sure == 1 && random() % 2;
    std::vector<double> needs;
    for (const auto& price : prices) needs.push_back(random() % 3 ? price.most : any(price.most));
    if (sorts) needs[1] = prices[1].most;
    const double cost = cost_of(PlanTurns(plans_of(prices, sorts), sure), needs);
    CAPTURE(round, sure, prices[sure].most, cost);
    CHECK(cost <= (sorts ? 2 : 1.5) * prices[sure].most + 1 + 1e-6);
  }
}

TEST_CASE("a walk that ends soon is found, however little is expected of it") {
  // The second one is done after 3 request units, the first only after 1,000.
  const double cost = cost_of(PlanTurns(plans_of({{8, 2000}, {100, 1000}}), 1), {2000, 3});
  CHECK(cost < 40);
}
