// When neighbouring physical partitions have been small for long enough.
#include "partitioning/moves/merge_watch.h"

#include <catch2/catch.hpp>

namespace octavo::partitioning {
namespace {

using std::chrono::hours;
using Pair = MergeWatch::Pair;

/// A watch of one database, with a clock that the test sets.
struct Watched {
  MergeWatch watch;
  MergeView view;
  MergeWatch::Clock::time_point now{hours{1'000}};
  MergeWatch::Limits limits{.bytes = 1'000, .per_second = 10'000, .after = hours{24}};

  explicit Watched(std::vector<std::uint64_t> bytes) {
    for (std::size_t i = 0; i < bytes.size(); ++i) view.parts.push_back({i, bytes[i], 0});
  }
  std::optional<Pair> after(hours passed) {
    now += passed;
    return watch.note("shop", view, limits, now);
  }
};

}  // namespace

TEST_CASE("neighbours are merged when they have been small for a day") {
  Watched watched({100, 100});
  CHECK_FALSE(watched.after(hours{0}));
  CHECK_FALSE(watched.after(hours{23}));
  CHECK(watched.after(hours{1}) == Pair{0, 1});
}

TEST_CASE("a merge that did not take place is not tried again for a day") {
  Watched watched({100, 100});
  watched.after(hours{0});
  CHECK(watched.after(hours{24}) == Pair{0, 1});
  CHECK_FALSE(watched.after(hours{23}));
  CHECK(watched.after(hours{1}) == Pair{0, 1});
}

TEST_CASE("neighbours that reach 40 percent of the size of a split wait from the beginning") {
  Watched watched({199, 200});
  watched.after(hours{0});
  watched.view.parts[0].bytes = 200;
  CHECK_FALSE(watched.after(hours{12}));
  watched.view.parts[0].bytes = 199;
  CHECK_FALSE(watched.after(hours{12}));
  CHECK_FALSE(watched.after(hours{23}));
  CHECK(watched.after(hours{1}) == Pair{0, 1});
}

TEST_CASE("neighbours that reach 40 percent of the throughput of one partition wait from the beginning") {
  Watched watched({100, 100});
  watched.view.parts[0].per_second = 1'999;
  watched.view.parts[1].per_second = 2'000;
  watched.after(hours{0});
  watched.view.parts[1].per_second = 2'001;
  CHECK_FALSE(watched.after(hours{24}));
  watched.view.parts[1].per_second = 2'000;
  watched.after(hours{0});
  CHECK(watched.after(hours{24}) == Pair{0, 1});
}

TEST_CASE("a partition whose size is not known is not small") {
  Watched watched({100, 100});
  watched.view.parts[1].bytes = std::nullopt;
  watched.after(hours{0});
  CHECK_FALSE(watched.after(hours{24}));
}

TEST_CASE("a partition that a split or a merge has made waits from the beginning") {
  Watched watched({100, 100, 100});
  watched.after(hours{0});
  watched.view.parts = {{0, 100, 0}, {3, 150, 0}};
  CHECK_FALSE(watched.after(hours{24}));
  CHECK(watched.after(hours{24}) == Pair{0, 3});
}

TEST_CASE("of several neighbours those with the least bytes are merged, and only those that touch") {
  Watched watched({100, 250, 20, 30, 300});
  watched.after(hours{0});
  CHECK(watched.after(hours{24}) == Pair{2, 3});
}

TEST_CASE("there are never fewer partitions than the creation or the throughput asked for") {
  Watched watched({100, 100});
  watched.view.count_min = 2;
  watched.after(hours{0});
  CHECK_FALSE(watched.after(hours{48}));
  watched.view.count_min = 1;
  CHECK(watched.after(hours{0}) == Pair{0, 1});
}

TEST_CASE("partitions that must wait for clients stay small, and are merged when these are gone") {
  Watched watched({100, 100});
  watched.view.waits = true;
  watched.after(hours{0});
  CHECK_FALSE(watched.after(hours{48}));
  watched.view.waits = false;
  CHECK(watched.after(hours{1}) == Pair{0, 1});
}

TEST_CASE("what is known of a database that was closed is forgotten") {
  Watched watched({100, 100});
  watched.after(hours{0});
  watched.watch.keep_only({"shop"});
  CHECK(watched.after(hours{24}) == Pair{0, 1});
  watched.watch.keep_only({"other"});
  CHECK_FALSE(watched.after(hours{24}));
}

}  // namespace octavo::partitioning
