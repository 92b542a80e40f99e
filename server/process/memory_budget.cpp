#include "server/process/memory_budget.h"

#include <algorithm>
#include <cstddef>
#include <tuple>

#include "partitioning/engine.h"

namespace octavo::server {
namespace {

/// Functions can work with this; it is also the least that the setting allows.
constexpr std::uint64_t heap_bytes_min = 16ULL << 20;
constexpr std::uint64_t buffer_bytes_min = 1ULL << 20;
constexpr std::uint64_t buffered_bytes_limit = 1ULL << 30;

auto lowered_values(const config::Settings& settings) {
  return std::tuple(settings.worker_threads, settings.javascript_heap_bytes_max, settings.queued_bytes_max,
                    settings.sort_bytes_max);
}

void fit_functions(config::Settings& settings, std::uint64_t bytes) {
  const std::size_t wanted = partitioning::worker_count(settings);
  std::size_t workers = wanted;
  while (workers > 1 && partitioning::function_threads(workers) * heap_bytes_min > bytes) --workers;
  if (workers < wanted) settings.worker_threads = static_cast<std::uint16_t>(workers);
  const std::uint64_t share = std::max(bytes / partitioning::function_threads(workers), heap_bytes_min);
  settings.javascript_heap_bytes_max = std::min<std::uint64_t>(settings.javascript_heap_bytes_max, share);
}

}  // namespace

bool fit_to_memory(config::Settings& settings, std::uint64_t memory_bytes) {
  const auto before = lowered_values(settings);
  fit_functions(settings, memory_bytes / 2);
  const std::uint64_t buffer = std::max(memory_bytes / 8, buffer_bytes_min);
  settings.queued_bytes_max = std::min<std::uint64_t>(settings.queued_bytes_max, buffer);
  settings.sort_bytes_max = std::min<std::uint64_t>(settings.sort_bytes_max, buffer);
  return lowered_values(settings) != before;
}

std::uint64_t buffered_bytes_max(std::uint64_t memory_bytes) {
  return std::clamp(memory_bytes / 4, 2 * buffer_bytes_min, buffered_bytes_limit);
}

BodyLimit body_limit(const config::Settings& settings, std::uint64_t buffered_bytes_max) {
  const std::uint64_t fitting = buffered_bytes_max / 2;
  if (settings.request_body_bytes_max <= fitting) {
    return {settings.request_body_bytes_max, "http.request_body_bytes_max"};
  }
  return {static_cast<std::size_t>(fitting), "what the memory allows, less than http.request_body_bytes_max"};
}

}  // namespace octavo::server
