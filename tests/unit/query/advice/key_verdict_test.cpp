#include "query/advice/key_verdict.h"

#include <memory>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "query/json/parsed_document.h"

using namespace octavo::query::advice;
using Catch::Matchers::Contains;
using octavo::partitioning::PartitionMap;

namespace {

constexpr std::uint32_t one_day_s = 86'400;
constexpr std::uint64_t bytes_of_each = 1'000;

/// Documents, and counters of candidates over them.
class Fleet {
 public:
  KeyCounter& count(KeyCandidate::Kind kind, std::initializer_list<std::string_view> paths) {
    KeyCandidate candidate{kind, {}, "-"};
    for (const auto path : paths) candidate.paths.push_back(*AdvisedPath::parse(path));
    counters_.push_back(std::make_unique<KeyCounter>(candidate, ranges_));
    return *counters_.back();
  }
  void add(const std::string& json, double day) {
    const auto time_s = static_cast<std::uint32_t>(day * one_day_s);
    frame_.add(time_s);
    for (const auto& counter : counters_) counter->add({*parser_.parse(json), "id", 0, bytes_of_each}, time_s);
  }
  /// `cars` cars send a document a day, for a year.
  void drive(int cars) {
    for (int car = 0; car < cars; ++car) {
      for (int day = 0; day < 360; ++day) {
        add(fmt::format(R"({{"id":"c{}","model":"m{}","month":"m{:02}"}})", car, car % 4, day / 30), day);
      }
    }
  }
  const TimeFrame& frame() const { return frame_; }

 private:
  const PartitionMap ranges_{PartitionMap::even(4)};
  std::vector<std::unique_ptr<KeyCounter>> counters_;
  octavo::query::DocumentParser parser_;
  TimeFrame frame_;
};

AdviceLimits limits_of(double logical_bytes, double physical_bytes = 1e12,
                       std::optional<std::uint32_t> throughput = {}) {
  AdviceLimits limits;
  limits.logical_bytes_max = logical_bytes;
  limits.physical_bytes_max = physical_bytes;
  limits.horizon_days = 1'000;
  limits.throughput = throughput;
  return limits;
}

std::string reasons_of(const KeyAdvice& advice) {
  std::string all;
  for (const auto& reason : advice.reasons) all += reason + "\n";
  return all;
}

}  // namespace

TEST_CASE("a key whose largest value reaches the limit within the horizon is rejected") {
  Fleet fleet;
  auto& by_car = fleet.count(KeyCandidate::Kind::single, {"/id"});
  fleet.drive(20);
  const auto advice = judge(by_car, nullptr, fleet.frame(), limits_of(1'000'000));
  CHECK(advice.verdict == Verdict::rejected);
  CHECK(advice.values == 20);
  CHECK_THAT(reasons_of(advice), Contains("reaches it in 6"));
  CHECK(judge(by_car, nullptr, fleet.frame(), limits_of(2'000'000)).verdict == Verdict::good);
}

TEST_CASE("a key whose values close is judged by what a value has when it closes") {
  Fleet fleet;
  auto& by_both = fleet.count(KeyCandidate::Kind::composite, {"/id", "/month"});
  fleet.drive(20);
  const auto advice = judge(by_both, nullptr, fleet.frame(), limits_of(60'000));
  CHECK(advice.verdict == Verdict::good);
  REQUIRE(advice.closes_after_days);
  CHECK(*advice.closes_after_days == Approx(30).epsilon(0.05));
  CHECK_THAT(reasons_of(advice), Contains("at 50."));
  CHECK(judge(by_both, nullptr, fleet.frame(), limits_of(29'000)).verdict == Verdict::rejected);
}

TEST_CASE("a value that needs more than a physical partition can serve is named, and bounds what is usable") {
  Fleet fleet;
  auto& by_model = fleet.count(KeyCandidate::Kind::single, {"/model"});
  fleet.drive(20);
  const auto advice = judge(by_model, nullptr, fleet.frame(), limits_of(1e12, 1e12, 80'000));
  CHECK(advice.verdict == Verdict::rejected);
  CHECK(advice.hottest_share == Approx(0.25));
  CHECK(*advice.usable == Approx(40'000));
  CHECK(advice.over_partition.size() == 4);
  CHECK(judge(by_model, nullptr, fleet.frame(), limits_of(1e12, 1e12, 40'000)).verdict == Verdict::good);
  CHECK_FALSE(judge(by_model, nullptr, fleet.frame(), limits_of(1e12)).usable);
}

TEST_CASE("only the present month gets writes") {
  Fleet fleet;
  auto& by_month = fleet.count(KeyCandidate::Kind::single, {"/month"});
  fleet.drive(20);
  const auto advice = judge(by_month, nullptr, fleet.frame(), limits_of(1e12, 1e12, 20'000));
  CHECK(advice.hottest_share == 1);
  CHECK(*advice.usable == Approx(10'000));
  CHECK(advice.over_partition == std::vector<std::string>{R"("m11")"});
}

TEST_CASE("a key that divides nothing is rejected, and one that no document has is called so") {
  Fleet fleet;
  auto& by_model = fleet.count(KeyCandidate::Kind::single, {"/model"});
  auto& by_nothing = fleet.count(KeyCandidate::Kind::single, {"/modle"});
  for (int day = 0; day < 360; ++day) fleet.add(R"({"id":"c","model":"m"})", day);
  const auto same = judge(by_model, nullptr, fleet.frame(), limits_of(1e12));
  CHECK(same.verdict == Verdict::rejected);
  CHECK_THAT(reasons_of(same), Contains("all documents have the same value"));
  const auto none = judge(by_nothing, nullptr, fleet.frame(), limits_of(1e12));
  CHECK(none.verdict == Verdict::rejected);
  CHECK_THAT(reasons_of(none), Contains("no document has the key"));
}

TEST_CASE("a hierarchical key is rejected if the documents of a first value do not fit into a physical partition") {
  Fleet fleet;
  auto& by_both = fleet.count(KeyCandidate::Kind::hierarchical, {"/model", "/id"});
  auto& first = fleet.count(KeyCandidate::Kind::single, {"/model"});
  fleet.drive(20);
  const auto full = judge(by_both, &first, fleet.frame(), limits_of(1e12, 5'000'000));
  CHECK(full.verdict == Verdict::rejected);
  CHECK_THAT(reasons_of(full), Contains("share a physical partition"));
  const auto hot = judge(by_both, &first, fleet.frame(), limits_of(1e12, 1e12, 80'000));
  CHECK(hot.verdict == Verdict::rejected);
  CHECK(*hot.usable == Approx(40'000));
  CHECK(judge(by_both, &first, fleet.frame(), limits_of(1e12)).verdict == Verdict::good);
}

TEST_CASE("of equal keys a hierarchical one is recommended, and rejected ones come last") {
  Fleet fleet;
  auto& composite = fleet.count(KeyCandidate::Kind::composite, {"/id", "/month"});
  auto& by_car = fleet.count(KeyCandidate::Kind::single, {"/id"});
  auto& hierarchical = fleet.count(KeyCandidate::Kind::hierarchical, {"/id", "/month"});
  fleet.drive(20);
  const auto limits = limits_of(1'000'000, 1e12, 40'000);
  std::vector<KeyAdvice> all{judge(by_car, nullptr, fleet.frame(), limits),
                             judge(composite, nullptr, fleet.frame(), limits),
                             judge(hierarchical, &by_car, fleet.frame(), limits)};
  rank(all, false);
  CHECK(all[0].candidate == hierarchical.candidate());
  CHECK(all[0].verdict == Verdict::recommended);
  CHECK(all[1].candidate == composite.candidate());
  CHECK(all[1].verdict == Verdict::good);
  CHECK(all[2].verdict == Verdict::rejected);
  CHECK(all[2].rank == 3);
}

TEST_CASE("queries that fan out decide between keys that no limit rejects, if enough are recorded") {
  Fleet fleet;
  auto& by_car = fleet.count(KeyCandidate::Kind::single, {"/id"});
  auto& by_model = fleet.count(KeyCandidate::Kind::single, {"/model"});
  fleet.drive(20);
  RecordedRequests recorded;
  RecordedShape shape;
  shape.equalities = {*octavo::query::FieldPath::parse("model")};
  shape.count = 10;
  shape.request_units = 30;
  recorded.shapes = {shape};
  std::vector<KeyAdvice> all{judge(by_car, nullptr, fleet.frame(), limits_of(1e12)),
                             judge(by_model, nullptr, fleet.frame(), limits_of(1e12))};
  for (auto& advice : all) advice.queries = judge_queries(advice.candidate, recorded, {});
  rank(all, false);
  CHECK(all.front().candidate == by_car.candidate());
  CHECK(all.front().queries->fan_out_share == 1);
  for (auto& advice : all) advice.verdict = Verdict::good;
  rank(all, true);
  CHECK(all.front().candidate == by_model.candidate());
}

TEST_CASE("a query fans out unless it knows what decides the physical partition") {
  const auto paths = [](std::initializer_list<std::string_view> texts) {
    std::vector<AdvisedPath> parsed;
    for (const auto text : texts) parsed.push_back(*AdvisedPath::parse(text));
    return parsed;
  };
  const KeyCandidate single{KeyCandidate::Kind::single, paths({"/a"}), {}};
  const KeyCandidate hierarchy{KeyCandidate::Kind::hierarchical, paths({"/a", "/b"}), {}};
  const KeyCandidate composite{KeyCandidate::Kind::composite, paths({"/a", "/b"}), "-"};
  QueryShape shape;
  CHECK(fans_out(single, shape, {}));
  shape.equalities = {*octavo::query::FieldPath::parse("a")};
  CHECK_FALSE(fans_out(single, shape, {}));
  CHECK_FALSE(fans_out(hierarchy, shape, {}));
  CHECK(fans_out(composite, shape, {}));
  shape.equalities = {*octavo::query::FieldPath::parse("b")};
  CHECK(fans_out(hierarchy, shape, {}));
  CHECK(fans_out(composite, shape, single));
  shape.in_partition = true;
  CHECK_FALSE(fans_out(hierarchy, shape, single));
  CHECK_FALSE(fans_out(composite, shape, single));
}

TEST_CASE("of very many values some very large ones are found among those beyond the sample") {
  Fleet fleet;
  auto& by_car = fleet.count(KeyCandidate::Kind::single, {"/id"});
  for (int i = 0; i < 150'000; ++i) {
    fleet.add(fmt::format(R"({{"id":"c{}"}})", i), i / 1'000.0);
    if (i % 10 == 0) fleet.add(fmt::format(R"({{"id":"large {}"}})", i / 10 % 8), i / 1'000.0);
  }
  REQUIRE(by_car.table().sampled_bits() > 0);
  const auto advice = judge(by_car, nullptr, fleet.frame(), limits_of(1e12));
  CHECK(advice.values_low <= 150'008);
  CHECK(advice.values_high >= 150'008);
  REQUIRE(advice.largest.size() == 5);
  for (const auto& [value, forecast] : advice.largest) {
    CHECK_THAT(value.text, Contains("large"));
    CHECK(value.bytes >= 1'875 * bytes_of_each);
    CHECK(value.bytes - value.error_max <= 1'875 * bytes_of_each);
  }
  CHECK(advice.hottest_share == Approx(1'875.0 / 165'000).epsilon(0.25));
}
