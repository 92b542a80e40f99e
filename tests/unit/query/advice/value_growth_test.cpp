#include "query/advice/value_growth.h"

#include <cmath>
#include <vector>

#include <catch2/catch.hpp>

using namespace octavo::query::advice;

namespace {

constexpr std::uint32_t day_s = 86'400;

ValueTable::Value value_of_days(std::uint64_t bytes, std::uint32_t documents, double first_day, double last_day) {
  ValueTable::Value value;
  value.bytes = bytes;
  value.documents = documents;
  value.first_s = static_cast<std::uint32_t>(first_day * day_s);
  value.last_s = static_cast<std::uint32_t>(last_day * day_s);
  return value;
}

TimeFrame frame_of_days(double from, double to) {
  TimeFrame frame;
  frame.add(static_cast<std::uint32_t>(from * day_s));
  frame.add(static_cast<std::uint32_t>(to * day_s));
  return frame;
}

ForecastTerms terms_of_frame(TimeFrame frame, std::optional<double> closing_days = {}) {
  ForecastTerms terms;
  terms.frame = frame;
  if (closing_days) terms.closing_life_s = *closing_days * day_s;
  terms.bytes_max = 1'000'000;
  terms.horizon_days = 1'000;
  return terms;
}

}  // namespace

TEST_CASE("a value that has been quiet for as long as it lived is closed") {
  CHECK(is_closed(value_of_days(1, 31, 0, 30), frame_of_days(0, 365)));
  CHECK(is_closed(value_of_days(1, 31, 0, 30), frame_of_days(0, 61)));
  CHECK_FALSE(is_closed(value_of_days(1, 31, 0, 30), frame_of_days(0, 60)));
}

TEST_CASE("a night or a weekend closes no value") {
  CHECK_FALSE(is_closed(value_of_days(1, 5'400, 0.3, 0.4), frame_of_days(0, 2.5)));
  CHECK(is_closed(value_of_days(1, 5'400, 0.3, 0.4), frame_of_days(0, 3.5)));
}

TEST_CASE("a value with rare documents is not closed before three of its mean gaps have passed") {
  // A document every 20 days.
  CHECK_FALSE(is_closed(value_of_days(1, 3, 0, 40), frame_of_days(0, 95)));
  CHECK(is_closed(value_of_days(1, 3, 0, 40), frame_of_days(0, 101)));
  CHECK(is_active(value_of_days(1, 3, 0, 40), frame_of_days(0, 95)));
}

TEST_CASE("a value whose documents have no times is neither closed nor active") {
  CHECK_FALSE(is_closed(ValueUse{}, frame_of_days(0, 365)));
  CHECK_FALSE(is_active(ValueUse{}, frame_of_days(0, 365)));
}

TEST_CASE("values of a key close if half of them are closed, after the median life") {
  std::vector<ValueTable::Value> months;
  for (int month = 0; month < 12; ++month) months.push_back(value_of_days(1, 3'000, 30 * month, 30 * month + 30));
  const auto life = closing_life_s(months, frame_of_days(0, 360));
  REQUIRE(life);
  CHECK(*life / day_s == Approx(30).epsilon(0.01));
  std::vector<ValueTable::Value> cars(12, value_of_days(1, 3'000, 0, 360));
  CHECK_FALSE(closing_life_s(cars, frame_of_days(0, 360)));
  cars.front() = months.front();  // one that was sold
  CHECK_FALSE(closing_life_s(cars, frame_of_days(0, 360)));
}

TEST_CASE("a value that does not close grows until the horizon, and is full when it reaches the limit") {
  const auto one = forecast(value_of_days(400'000, 4'000, 0, 400), terms_of_frame(frame_of_days(0, 400)));
  CHECK(*one.bytes_per_day == Approx(1'000).epsilon(0.001));
  CHECK(one.final_bytes == Approx(1'400'000).epsilon(0.001));
  CHECK(*one.full_in_days == Approx(600).epsilon(0.001));
  CHECK(*one.full_after_days == Approx(1'000).epsilon(0.001));
}

TEST_CASE("a value that closes is judged by its rate and the usual life") {
  const auto open = forecast(value_of_days(10'000, 1'000, 390, 400), terms_of_frame(frame_of_days(0, 400), 30));
  CHECK(*open.bytes_per_day == Approx(1'000).epsilon(0.01));
  CHECK(open.final_bytes == Approx(30'000).epsilon(0.01));
  CHECK_FALSE(open.full_in_days);
  CHECK_FALSE(open.full_after_days);
  const auto closed = forecast(value_of_days(30'000, 1'000, 0, 30), terms_of_frame(frame_of_days(0, 400), 30));
  CHECK(closed.final_bytes == 30'000);
  const auto fast = forecast(value_of_days(500'000, 1'000, 390, 400), terms_of_frame(frame_of_days(0, 400), 30));
  CHECK(*fast.full_in_days == Approx(10).epsilon(0.01));
  CHECK(*fast.full_after_days == Approx(20).epsilon(0.01));
}

TEST_CASE("a value above the limit is full now, also if it is closed or nothing is known of its growth") {
  CHECK(forecast(value_of_days(1'000'000, 10, 0, 30), terms_of_frame(frame_of_days(0, 400), 30)).full_in_days == 0);
  CHECK(forecast(value_of_days(1'000'000, 10, 0, 0.01), terms_of_frame(frame_of_days(0, 0.01))).full_in_days == 0);
}

TEST_CASE("in less than a day no growth is known, and shares of writes are those of bytes") {
  const auto terms = terms_of_frame(frame_of_days(10, 10.5));
  const auto value = value_of_days(1'000, 10, 10, 10.5);
  const auto one = forecast(value, terms);
  CHECK_FALSE(one.bytes_per_day);
  CHECK_FALSE(one.full_in_days);
  CHECK(write_rate(value, terms) == 1'000);
}

TEST_CASE("a value that is not active gets no writes now") {
  const auto terms = terms_of_frame(frame_of_days(0, 365));
  CHECK(write_rate(value_of_days(1'000, 3'000, 300, 330), terms) == 0);
  CHECK(write_rate(value_of_days(1'000, 3'000, 335, 365), terms) > 0);
}

TEST_CASE("a value that appeared an hour ago is not taken for a fast one") {
  const auto terms = terms_of_frame(frame_of_days(0, 365));
  CHECK(forecast(value_of_days(1'000, 10, 364.96, 365), terms).bytes_per_day == Approx(1'000 / 36.5));
}
