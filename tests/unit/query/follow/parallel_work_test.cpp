#include "query/follow/parallel_work.h"

#include <algorithm>
#include <atomic>
#include <vector>

#include <boost/asio/thread_pool.hpp>
#include <catch2/catch.hpp>

using namespace octavo;
using namespace octavo::query;

TEST_CASE("work in parallel is done once each, and ends at the first error or when stopped") {
  boost::asio::thread_pool pool(3);
  std::atomic<bool> stopping{false};
  std::vector<std::atomic<int>> calls(1000);
  REQUIRE(work_in_parallel(&pool, calls.size(), stopping, [&](std::size_t i) -> Expected<void> {
    ++calls[i];
    return {};
  }));
  CHECK(std::ranges::all_of(calls, [](const auto& count) { return count == 1; }));
  constexpr std::size_t piece_count = 1'000'000;
  std::atomic<std::size_t> done{0};
  const auto failed = work_in_parallel(&pool, piece_count, stopping, [&](std::size_t i) -> Expected<void> {
    ++done;
    if (i == 3) return fail(ErrorCode::conflict, "three");
    return {};
  });
  REQUIRE(!failed);
  CHECK(failed.error().reason == "three");
  CHECK(done < piece_count);
  stopping = true;
  const auto stopped = work_in_parallel(&pool, 10, stopping, [&](std::size_t) -> Expected<void> { return {}; });
  REQUIRE(!stopped);
  CHECK(stopped.error().code == ErrorCode::timeout);
  CHECK(work_in_parallel(&pool, 0, stopping, [&](std::size_t) -> Expected<void> { return {}; }));
  pool.join();
}

TEST_CASE("work in parallel that has enough tells how much is done, without a gap") {
  boost::asio::thread_pool pool(3);
  const std::atomic<bool> stopping{false};
  for (auto* const helpers : {&pool, static_cast<boost::asio::thread_pool*>(nullptr)}) {
    std::vector<std::atomic<int>> calls(1000);
    std::atomic<int> done{0};
    const auto work = [&](std::size_t i) -> Expected<void> {
      ++calls[i];
      ++done;
      return {};
    };
    const auto count = work_in_parallel(helpers, calls.size(), stopping, work, [&] { return done >= 100; });
    REQUIRE(count);
    // A thread that is slow with a piece it took holds the count there: only one thread alone comes exactly as far.
    if (helpers == nullptr) CHECK(*count == 100);
    CHECK(*count > 0);
    CHECK(*count < calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) CHECK((i < *count ? calls[i] == 1 : calls[i] <= 1));
    // One is always done.
    const auto one = work_in_parallel(helpers, calls.size(), stopping, work, [] { return true; });
    REQUIRE(one);
    CHECK(*one == 1);
  }
  pool.join();
}
