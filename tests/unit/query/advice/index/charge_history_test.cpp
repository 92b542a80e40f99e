#include "query/advice/index/charge_history.h"

#include <catch2/catch.hpp>

using namespace octavo::query;
using namespace octavo::query::advice;

namespace {

/// Records queries of one shape by an index with this identity; empty: by none.
struct History {
  std::int64_t now_s = 1'000'000;
  RequestRecorder recorder{[this] { return now_s; }};

  void record(const char* identity, double units, int count = 1) {
    std::vector<Plan> plans(1);
    Branch& branch = plans[0].branches.emplace_back();
    if (*identity != '\0') {
      auto definition = std::make_shared<IndexDefinition>();
      definition->identity = identity;
      branch.index = IndexView{definition, nullptr, {}, {}};
    }
    for (int i = 0; i < count; ++i) {
      recorder.record({.text = "a $eq ?", .request_units = units, .results = 1, .plans = plans},
                      [] { return QueryOutline{}; });
    }
  }
};

}  // namespace

TEST_CASE("charges without an index and with it are compared") {
  History history;
  history.record("", 90, 10);
  history.now_s += 3'600;
  history.record("by-a", 10, 30);
  history.now_s += 86'400;
  const auto recorded = history.recorder.recorded();
  const auto changes = charge_changes(recorded, mark_of("by-a"));
  REQUIRE(changes.size() == 1);
  CHECK(changes[0].without.count == 10);
  CHECK(changes[0].with.count == 30);
  CHECK(changes[0].saved() == 80.0);
  CHECK(changes[0].saved_per_day(recorded.now_s) == 2'400.0);
  CHECK(recorded.used.contains(mark_of("by-a")));
  CHECK(charge_changes(recorded, mark_of("by-b")).empty());
}

TEST_CASE("a shape that was never recorded without the index has no saving") {
  History history;
  history.record("by-a", 10, 30);
  const auto recorded = history.recorder.recorded();
  const auto changes = charge_changes(recorded, mark_of("by-a"));
  REQUIRE(changes.size() == 1);
  CHECK_FALSE(changes[0].saved());
}

TEST_CASE("windows become longer as they age, and no query is lost") {
  History history;
  for (int hour = 0; hour < 100; ++hour) {
    history.record(hour < 50 ? "" : "by-a", hour < 50 ? 90 : 10, 3);
    history.now_s += RequestRecorder::window_s;
  }
  const auto recorded = history.recorder.recorded();
  REQUIRE(recorded.shapes.size() == 1);
  const auto& windows = recorded.shapes[0].windows;
  CHECK(windows.size() <= RequestRecorder::windows_max);
  CHECK(recorded.shapes[0].total().count == 300);
  CHECK(windows.back().count == 3);  // the newest one is as fine as ever
  const auto changes = charge_changes(recorded, mark_of("by-a"));
  CHECK(changes[0].without.count == 150);
  CHECK(changes[0].saved() == 80.0);
}

TEST_CASE("with ever new indexes only the newest windows are kept") {
  History history;
  for (int i = 0; i < 50; ++i) history.record(("index " + std::to_string(i)).c_str(), 1);
  const auto recorded = history.recorder.recorded();
  CHECK(recorded.shapes[0].windows.size() == RequestRecorder::windows_max);
  CHECK(recorded.shapes[0].count == 50);
  CHECK(recorded.used.size() == 50);
}

TEST_CASE("what was written before the first query does not count") {
  std::uint64_t changes = 70;
  RequestRecorder recorder([] { return 5; }, [&] { return WriteCounters{changes, 60}; });
  CHECK_FALSE(recorder.recorded().before);
  recorder.record({.text = "x"}, [] { return QueryOutline{}; });
  changes = 100;
  recorder.record({.text = "x"}, [] { return QueryOutline{}; });
  CHECK(recorder.recorded().before->changes == 70);
}
