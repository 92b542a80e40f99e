#include "partitioning/throughput/point_requests.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <new>
#include <random>
#include <string>
#include <utility>

#include "base/murmur3.h"
#include "base/unix_time.h"

namespace octavo::partitioning {

namespace {

std::atomic<std::size_t> ring_count{0};

/// Random without the cost of a system call for each number.
class Gaps {
 public:
  // A periodic load must not meet the same kind of request each time, hence no fixed gap.
  std::int32_t next() {
    return std::uniform_int_distribution<std::int32_t>(1, 2 * PointRequests::mean_gap - 1)(random_);
  }

 private:
  std::minstd_rand random_{std::random_device{}()};
};

using HashKey = std::array<char, 16>;

HashKey random_key() {
  std::random_device random;
  HashKey key{};
  for (char& byte : key) byte = static_cast<char>(random());
  return key;
}

}  // namespace

constinit thread_local std::int32_t PointRequests::requests_to_skip_ = 0;

struct PointRequests::Ring {
  std::array<Entry, kept_max> entries;
  std::uint64_t written = 0;
};

PointRequests::PointRequests() = default;

PointRequests::~PointRequests() {
  forget();
}

std::optional<PointRequests::DocumentHash> PointRequests::sample_now(std::string_view document_id) noexcept {
  thread_local Gaps gaps;
  const bool is_first = requests_to_skip_ < 0;  // of this thread: the gap before it was not random
  requests_to_skip_ = gaps.next();
  return is_first ? std::nullopt : std::optional(hash_of(document_id));
}

PointRequests::DocumentHash PointRequests::hash_of(std::string_view document_id) noexcept {
  static const HashKey key = random_key();
  constexpr std::size_t short_id_bytes = 240;
  std::array<char, key.size() + short_id_bytes> text;
  const std::size_t bytes = std::min(document_id.size(), short_id_bytes);
  std::memcpy(text.data(), key.data(), key.size());
  std::memcpy(text.data() + key.size(), document_id.data(), bytes);
  const auto hash = murmur3_x64_128({text.data(), key.size() + bytes}).high;
  // The rest of a long id needs no copy: the key is in the hash already.
  return bytes == document_id.size() ? hash : hash ^ murmur3_x64_128(document_id.substr(bytes)).high;
}

void PointRequests::add(DocumentHash document, Kind kind, RequestUnits units) noexcept {
  const auto second = static_cast<std::uint32_t>(unix_now_s());
  const std::lock_guard lock(mutex_);
  is_used_ = true;
  if (!ring_) {
    if (ring_count.load(std::memory_order_relaxed) >= rings_max) return;
    ring_.reset(new (std::nothrow) Ring);
    if (!ring_) return;
    ring_count.fetch_add(1, std::memory_order_relaxed);
  }
  ring_->entries[ring_->written++ % kept_max] = {document, second, static_cast<float>(units), kind};
}

std::vector<PointRequests::Entry> PointRequests::recorded() const {
  std::vector<Entry> entries;
  const std::lock_guard lock(mutex_);
  if (!ring_) return entries;
  const std::uint64_t count = std::min<std::uint64_t>(ring_->written, kept_max);
  entries.reserve(count);
  for (std::uint64_t i = ring_->written - count; i < ring_->written; ++i) {
    entries.push_back(ring_->entries[i % kept_max]);
  }
  return entries;
}

void PointRequests::forget_if_idle() {
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_used_, false)) return;
  }
  forget();
}

void PointRequests::forget() {
  const std::lock_guard lock(mutex_);
  if (ring_) ring_count.fetch_sub(1, std::memory_order_relaxed);
  ring_.reset();
}

}  // namespace octavo::partitioning
