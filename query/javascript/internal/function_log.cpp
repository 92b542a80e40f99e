#include "query/javascript/internal/function_log.h"

#include <atomic>
#include <chrono>
#include <string>

#include <spdlog/spdlog.h>

namespace octavo::query::javascript {

namespace {

constexpr std::uint32_t lines_per_second_max = 100;

std::atomic<std::int64_t> second_of_lines{0};
std::atomic<std::uint32_t> lines_in_second{0};

bool may_log() {
  const auto now =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now().time_since_epoch());
  auto second = second_of_lines.load(std::memory_order_relaxed);
  if (second != now.count() && second_of_lines.compare_exchange_strong(second, now.count())) {
    const auto lines = lines_in_second.exchange(0, std::memory_order_relaxed);
    if (lines > lines_per_second_max) {
      spdlog::warn("design functions: {} lines are left out, as there are more than {} a second",
                   lines - lines_per_second_max, lines_per_second_max);
    }
  }
  return lines_in_second.fetch_add(1, std::memory_order_relaxed) < lines_per_second_max;
}

// Replaces line breaks and other control characters by spaces, so that one event is one line.
std::string one_line(std::string_view text) {
  std::string line;
  line.reserve(text.size());
  for (const char c : text) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    line.push_back(control ? ' ' : c);
  }
  return line;
}

}  // namespace

void log_from_function(std::string_view function, std::string_view message) {
  if (!spdlog::should_log(spdlog::level::info) || !may_log()) return;
  spdlog::info("{}: {}", one_line(function), one_line(message));
}

}  // namespace octavo::query::javascript
