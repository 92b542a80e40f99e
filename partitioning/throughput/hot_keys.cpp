#include "partitioning/throughput/hot_keys.h"

#include <algorithm>
#include <functional>
#include <new>
#include <thread>

#include "base/assert.h"

namespace octavo::partitioning {

void HotKeys::Window::add(std::string_view partition_key, RequestUnits units) {
  OCTAVO_ASSERT(size <= entries.size());
  const std::size_t hash = std::hash<std::string_view>{}(partition_key);
  for (std::size_t i = 0; i < size; ++i) {
    if (entries[i].hash == hash && entries[i].key.partition_key == partition_key) {
      entries[i].key.units += units;
      return;
    }
  }
  if (size < keys_max) {
    auto& entry = entries[size];
    entry.key.partition_key.assign(partition_key);
    entry.hash = hash;
    entry.key.units = units;
    entry.key.error_max = 0;
    ++size;
    return;
  }
  // The new key replaces the one with the least, and may have spent all of that key's units.
  auto& least = *std::ranges::min_element(entries, {}, [](const Entry& entry) { return entry.key.units; });
  least.key.partition_key.assign(partition_key);
  least.hash = hash;
  least.key.error_max = least.key.units;
  least.key.units += units;
}

void HotKeys::add(std::string_view partition_key, RequestUnits units, std::int64_t now_s) {
  if (busy_.test_and_set(std::memory_order_acquire)) return;
  try {
    const std::int64_t number = now_s / window_s;
    auto& window = windows_[static_cast<std::size_t>(number) % windows_.size()];
    if (window.number != number) {
      window.number = number;
      window.size = 0;
    }
    window.add(partition_key, units);
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
      for (std::size_t i = 0; i < window.size; ++i) {
        const auto& key = window.entries[i].key;
        const auto known = std::ranges::find(keys, key.partition_key, &HotKey::partition_key);
        if (known == keys.end()) {
          keys.push_back(key);
        } else {
          known->units += key.units;
          known->error_max += key.error_max;
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
