#include "partitioning/throughput/hot_keys.h"

#include <algorithm>
#include <functional>
#include <new>
#include <thread>

namespace octavo::partitioning {

void HotKeys::add(std::string_view partition_key, RequestUnits units, std::int64_t now_s) {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  try {
    const std::int64_t number = now_s / window_s;
    auto& window = windows_[static_cast<std::size_t>(number) % windows_.size()];
    if (window.number != number) {
      window.number = number;
      window.keys.clear();
    }
    window.keys.add(partition_key, std::hash<std::string_view>{}(partition_key), units);
  } catch (const std::bad_alloc&) {
    // Drops one sample; the request must not fail for it.
  }
  busy_.clear(std::memory_order_release);
}

std::vector<HotKey> HotKeys::top(std::size_t count_max, std::int64_t now_s) const {
  std::vector<HotKey> keys;
  keys.reserve(2 * keys_max);
  while (busy_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  try {
    for (const auto& window : windows_) {
      if (window.number < now_s / window_s - 1) continue;
      for (const auto& entry : window.keys.entries()) {
        const auto known = std::ranges::find(keys, entry.key, &HotKey::partition_key);
        if (known == keys.end()) {
          keys.push_back({entry.key, entry.weight, entry.error_max});
        } else {
          known->units += entry.weight;
          known->error_max += entry.error_max;
        }
      }
    }
  } catch (...) {
    busy_.clear(std::memory_order_release);
    throw;
  }
  busy_.clear(std::memory_order_release);
  std::ranges::sort(keys, std::ranges::greater{}, &HotKey::units);
  if (keys.size() > count_max) keys.resize(count_max);
  const auto covered_s = static_cast<double>(window_s + now_s % window_s);
  for (HotKey& key : keys) key.per_second = (key.units - key.error_max) / covered_s;
  return keys;
}

}  // namespace octavo::partitioning
