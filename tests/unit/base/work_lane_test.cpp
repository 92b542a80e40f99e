#include "base/jobs/work_lane.h"

#include <atomic>
#include <future>
#include <vector>

#include <catch2/catch.hpp>

using octavo::WorkLane;

namespace {

// Occupies all threads of a pool until it is let go.
class Occupation {
 public:
  Occupation(boost::asio::thread_pool& pool, std::size_t threads) {
    std::vector<std::promise<void>> begun(threads);
    for (auto& promise : begun) {
      boost::asio::post(pool, [this, &promise] {
        promise.set_value();
        released_.wait();
      });
    }
    for (auto& promise : begun) promise.get_future().wait();
  }
  void end() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

}  // namespace

TEST_CASE("work of the pool overtakes what waits in the lane") {
  boost::asio::thread_pool pool(1);
  WorkLane lane(pool, 1);
  Occupation occupation(pool, 1);
  std::vector<char> order;
  for (int i = 0; i < 5; ++i) lane.post([&] { order.push_back('l'); });
  for (int i = 0; i < 2; ++i) boost::asio::post(pool, [&] { order.push_back('p'); });
  occupation.end();
  pool.join();
  CHECK(order == std::vector<char>{'l', 'p', 'p', 'l', 'l', 'l', 'l'});
}

TEST_CASE("the lane uses all threads while no other work wants them") {
  boost::asio::thread_pool pool(3);
  WorkLane lane(pool, 3);
  std::atomic<int> inside{0};
  std::promise<void> all_inside;
  std::shared_future<void> released = all_inside.get_future().share();
  for (int i = 0; i < 3; ++i) {
    lane.post([&] {
      if (++inside == 3) all_inside.set_value();
      released.wait();
    });
  }
  released.wait();
  pool.join();
  CHECK(inside == 3);
}

TEST_CASE("every task of a lane is run once") {
  boost::asio::thread_pool pool(4);
  WorkLane lane(pool, 4);
  std::atomic<int> runs{0};
  std::vector<std::thread> posters;
  for (int t = 0; t < 4; ++t) {
    posters.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) lane.post([&] { ++runs; });
    });
  }
  for (auto& poster : posters) poster.join();
  pool.join();
  CHECK(runs == 20'000);
}
