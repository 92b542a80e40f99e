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
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr std::uint64_t kReservedBytes = kSanitized ? 1ULL << 30 : 64ULL << 30;
constexpr std::uint64_t kFileMultiple = 4;
/// No single map takes more than this share of the remaining space, so that later maps always find some.
constexpr std::uint64_t kShareOfRemaining = 16;
constexpr std::uint64_t kUsualAddressSpaceBytes = 1ULL << 47;

std::atomic<std::uint64_t> reserved_bytes{0};

/// Half of the kernel's address space for a process: 64 TiB with 47 bits, 256 GiB with the 39 bits of some ARM systems.
/// The program's name is stored at the end of the first thread's stack, the upper end of the address space.
std::uint64_t budget_bytes() {
  static const std::uint64_t budget = [] {
    const std::uint64_t highest = ::getauxval(AT_EXECFN);
    return (highest == 0 ? kUsualAddressSpaceBytes : std::bit_ceil(highest)) / 2;
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
  const std::uint64_t wanted = std::max(kReservedBytes, kFileMultiple * file_bytes);
  return std::max(needed, std::min(wanted, remaining / kShareOfRemaining));
}

void take_address_space(std::uint64_t bytes) {
  reserved_bytes.fetch_add(bytes, std::memory_order_relaxed);
}

void return_address_space(std::uint64_t bytes) {
  reserved_bytes.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace octavo::storage
