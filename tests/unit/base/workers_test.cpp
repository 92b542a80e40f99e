#include "base/jobs/workers.h"

#include <chrono>
#include <exception>
#include <future>
#include <string>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>

using octavo::Workers;

TEST_CASE("neither short nor patient tasks wait for the end of long ones") {
  constexpr std::size_t threads = 2;
  Workers workers(threads);
  boost::asio::io_context context;
  std::promise<void> release;
  // The limit only ends a test that fails.
  const auto hold = [released = release.get_future().share()] {
    static_cast<void>(released.wait_for(std::chrono::seconds(20)));
  };
  std::string order;
  for (std::size_t i = 0; i < threads + 2; ++i) {
    boost::asio::co_spawn(context, workers.run_long(hold), [&](const std::exception_ptr&) { order += 'l'; });
  }
  const auto ended = [&](const std::exception_ptr&) {
    order += '-';
    if (order == "--") release.set_value();
  };
  boost::asio::co_spawn(context, workers.run_patiently([] {}), ended);
  boost::asio::co_spawn(context, workers.run_blocking([] {}), ended);
  context.run();
  workers.join();
  CHECK(order == "--llll");
}
