#include "storage/lmdb/internal/address_space.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <sys/auxv.h>
#include <sys/resource.h>

namespace octavo::storage {
namespace {

// Sanitizers keep shadow memory of what is mapped, and need most of the address space themselves.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif
#else
constexpr bool sanitized = false;
#endif

constexpr std::uint64_t reservation_bytes_min = sanitized ? 1ULL << 30 : 64ULL << 30;
constexpr std::uint64_t file_multiple = 4;
/// No single map takes more than this share of the remaining space, so that later maps always find some.
constexpr std::uint64_t share_of_remaining = 16;
constexpr std::uint64_t usual_address_space_bytes = 1ULL << 47;

std::atomic<std::uint64_t> reserved_bytes{0};

/// Half of the kernel's address space for a process: 64 TiB with 47 bits, 256 GiB with the 39 bits of some ARM systems.
/// The program's name is stored at the end of the first thread's stack, the upper end of the address space.
std::uint64_t budget_bytes() {
  static const std::uint64_t budget = [] {
    const std::uint64_t highest = ::getauxval(AT_EXECFN);
    return (highest == 0 ? usual_address_space_bytes : std::bit_ceil(highest)) / 2;
  }();
  return budget;
}

bool is_address_space_limited() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

}  // namespace

std::uint64_t map_bytes_to_reserve(std::uint64_t file_bytes, std::uint64_t needed) {
  if (is_address_space_limited()) return needed;
  const std::uint64_t budget = budget_bytes();
  const std::uint64_t remaining = budget - std::min(budget, reserved_bytes.load(std::memory_order_relaxed));
  const std::uint64_t wanted = std::max(reservation_bytes_min, file_multiple * file_bytes);
  return std::max(needed, std::min(wanted, remaining / share_of_remaining));
}

void take_address_space(std::uint64_t bytes) {
  reserved_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void return_address_space(std::uint64_t bytes) {
  reserved_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace octavo::storage
