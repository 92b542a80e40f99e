#include "base/jobs/background_jobs.h"

#include <atomic>
#include <chrono>

#include <boost/asio/thread_pool.hpp>
#include <catch2/catch.hpp>

#include "support/eventually.h"
#include "support/patience.h"

using namespace octavo;
using octavo::tests::patiently;

TEST_CASE("the timers of background jobs end with their owner") {
  boost::asio::thread_pool pool(2);
  std::atomic<int> runs{0};
  BackgroundJobs jobs(pool);
  jobs.post_after(std::chrono::milliseconds(1), [&] { ++runs; });
  CHECK(octavo::tests::eventually([&] { return runs == 1; }, std::chrono::seconds(20)));
  jobs.post_after(std::chrono::hours(1), [&] { ++runs; });
  jobs.stop();
  jobs.post_after(std::chrono::hours(1), [&] { ++runs; });
  const auto before = std::chrono::steady_clock::now();
  pool.join();
  CHECK(std::chrono::steady_clock::now() - before < patiently(std::chrono::seconds(10)));
  CHECK(runs == 1);
}
