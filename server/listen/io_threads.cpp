#include "server/listen/io_threads.h"

#include <exception>
#include <pthread.h>
#include <string>

#include <boost/asio/executor_work_guard.hpp>
#include <spdlog/spdlog.h>

#include "base/assert.h"

namespace octavo::server {
namespace {

void run_until_stopped(boost::asio::io_context& context) {
  const auto guard = boost::asio::make_work_guard(context);
  while (!context.stopped()) {
    try {
      context.run();
    } catch (const std::exception& error) {
      // A bug in one callback must not end the other connections of this thread.
      spdlog::error("exception on an I/O thread: {}", error.what());
    }
  }
}

}  // namespace

IoThreads::IoThreads(std::size_t count) {
  OCTAVO_ASSERT(count > 0);
  for (std::size_t i = 0; i < count; ++i) threads_.push_back(std::make_unique<Thread>());
}

IoThreads::~IoThreads() {
  stop();
}

void IoThreads::start() {
  std::size_t index = 0;
  for (auto& one : threads_) {
    one->thread = std::thread([&context = one->context] { run_until_stopped(context); });
    pthread_setname_np(one->thread.native_handle(), ("io-" + std::to_string(index++)).c_str());
  }
}

void IoThreads::stop() {
  for (auto& one : threads_) one->context.stop();
  for (auto& one : threads_) {
    if (one->thread.joinable()) one->thread.join();
  }
}

}  // namespace octavo::server
