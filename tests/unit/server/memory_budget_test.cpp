#include "server/process/memory_budget.h"

#include <catch2/catch.hpp>

#include "partitioning/engine.h"

using namespace octavo;
using namespace octavo::server;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;

config::Settings settings_with_workers(std::uint16_t workers) {
  config::Settings settings;
  settings.worker_threads = workers;
  return settings;
}

std::uint64_t bytes_of_heaps(const config::Settings& settings) {
  return partitioning::function_threads(partitioning::worker_count(settings)) * settings.javascript_heap_bytes_max;
}

}  // namespace

TEST_CASE("where memory abounds, the settings stay as they are") {
  config::Settings settings = settings_with_workers(8);
  CHECK_FALSE(fit_to_memory(settings, 64'000 * mebibyte));
  CHECK(settings == settings_with_workers(8));
}

TEST_CASE("all JavaScript heaps together take at most a half of the memory") {
  for (const std::uint16_t workers : {1, 2, 8, 64, 1'024}) {
    for (const std::uint64_t memory : {128, 256, 512, 1'024, 8'192}) {
      CAPTURE(workers, memory);
      config::Settings settings = settings_with_workers(workers);
      fit_to_memory(settings, memory * mebibyte);
      CHECK(bytes_of_heaps(settings) <= memory * mebibyte / 2);
      CHECK(settings.javascript_heap_bytes_max >= 16 * mebibyte);
      CHECK(settings.worker_threads >= 1);
      CHECK(settings.worker_threads <= workers);
    }
  }
}

TEST_CASE("workers are fewer only if their heaps would be too small") {
  config::Settings settings = settings_with_workers(2);
  CHECK(fit_to_memory(settings, 256 * mebibyte));
  CHECK(settings.worker_threads == 2);
  CHECK(settings.javascript_heap_bytes_max < 32 * mebibyte);

  settings = settings_with_workers(64);
  CHECK(fit_to_memory(settings, 128 * mebibyte));
  CHECK(settings.worker_threads == 1);
  CHECK(settings.javascript_heap_bytes_max == 16 * mebibyte);
}

TEST_CASE("queues and sorts follow the memory") {
  config::Settings settings = settings_with_workers(1);
  CHECK(fit_to_memory(settings, 128 * mebibyte));
  CHECK(settings.queued_bytes_max == 16 * mebibyte);
  CHECK(settings.sort_bytes_max == 16 * mebibyte);
}

TEST_CASE("the longest body is what the settings say, and never more than half of what may be buffered") {
  config::Settings settings = settings_with_workers(1);
  settings.request_body_bytes_max = 4096 * mebibyte;
  CHECK(body_limit(settings, 32 * mebibyte).bytes == 16 * mebibyte);
  CHECK(body_limit(settings, 32 * mebibyte).origin.find("memory") != std::string_view::npos);
  settings.request_body_bytes_max = mebibyte;
  CHECK(body_limit(settings, 32 * mebibyte).bytes == mebibyte);
  CHECK(body_limit(settings, 32 * mebibyte).origin == "http.request_body_bytes_max");
}

TEST_CASE("what was set lower than the memory allows stays") {
  config::Settings settings = settings_with_workers(1);
  settings.javascript_heap_bytes_max = 16 * mebibyte;
  settings.queued_bytes_max = settings.sort_bytes_max = settings.request_body_bytes_max = mebibyte;
  const config::Settings wanted = settings;
  CHECK_FALSE(fit_to_memory(settings, 128 * mebibyte));
  CHECK(settings == wanted);
}

TEST_CASE("with hardly any memory, a server still serves") {
  config::Settings settings = settings_with_workers(4);
  CHECK(fit_to_memory(settings, mebibyte));
  CHECK(settings.worker_threads == 1);
  CHECK(settings.queued_bytes_max >= mebibyte);
  CHECK(body_limit(settings, buffered_bytes_max(mebibyte)).bytes >= mebibyte);
}

TEST_CASE("bodies and unsent replies may each hold a quarter of the memory, and a gibibyte at most") {
  CHECK(buffered_bytes_max(128 * mebibyte) == 32 * mebibyte);
  CHECK(buffered_bytes_max(64'000 * mebibyte) == 1'024 * mebibyte);
}
