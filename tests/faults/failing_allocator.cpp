// Replaces the global operator new, and aligned_alloc, of the program that links this.
#include "faults/failing_allocator.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace octavo::tests {
namespace {

std::atomic<long> left{0};             ///< 1: the next one fails; 0 or below: none does
std::atomic<long> operations_left{0};  ///< the same of aligned_alloc
std::atomic<bool> failed{false};
std::atomic<unsigned> one_in_background{0};  ///< 0: none fails
thread_local constinit bool is_spared = false;
thread_local constinit unsigned random_state = 0;

bool strikes_in_background() {
  const unsigned one_in = one_in_background.load(std::memory_order_relaxed);
  if (one_in == 0 || is_spared) return false;
  static std::atomic<unsigned> threads{0};
  if (random_state == 0) random_state = 2'654'435'769U * (threads.fetch_add(1) + 1) | 1U;
  random_state ^= random_state << 13;  // xorshift32
  random_state ^= random_state >> 17;
  random_state ^= random_state << 5;
  if (random_state % one_in != 0) return false;
  failed.store(true);
  return true;
}

bool is_last(std::atomic<long>& count) {
  if (count.load(std::memory_order_relaxed) <= 0 || count.fetch_sub(1, std::memory_order_relaxed) != 1) return false;
  failed.store(true);
  return true;
}

bool strikes() {
  return strikes_in_background() || is_last(left);
}

void* allocate_aligned(std::size_t size, std::size_t alignment) {
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, size) == 0 ? memory : nullptr;
}

void* allocate(std::size_t size, std::size_t alignment) {
  if (strikes()) return nullptr;
  if (size == 0) size = 1;
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size);
  return allocate_aligned(size, alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment = 0) {
  if (void* memory = allocate(size, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void fail_allocation(std::size_t n) {
  failed.store(false);
  left.store(static_cast<long>(n));
}

void fail_operation(std::size_t n) {
  failed.store(false);
  operations_left.store(static_cast<long>(n));
}

void fail_in_background(unsigned one_in) {
  is_spared = true;
  failed.store(false);
  one_in_background.store(one_in);
}

bool stop_failing() {
  left.store(0);
  operations_left.store(0);
  one_in_background.store(0);
  return failed.load();
}

}  // namespace octavo::tests

using octavo::tests::allocate;
using octavo::tests::allocate_aligned;
using octavo::tests::allocate_or_throw;

extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (octavo::tests::is_last(octavo::tests::operations_left)) return nullptr;
  return allocate_aligned(size, alignment);
}

void* operator new(std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new[](std::size_t size) {
  return allocate_or_throw(size);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0);
}
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept {
  return allocate(size, 0);
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete[](void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
