#pragma once

#include <cstddef>

namespace octavo::query::javascript {

/// Limits the memory that SpiderMonkey allocates by malloc. SpiderMonkey limits its garbage-collected heap, but not the
/// memory attached to it: the characters of strings, elements of arrays, buffers. It checks that only between two steps
/// of a function, and one step can allocate a gigabyte. The guard therefore redirects the calls of malloc, calloc and
/// realloc in SpiderMonkey's library (only its table of imported functions is changed) and refuses allocations above a
/// size set per thread: SpiderMonkey then throws "out of memory".
class AllocationGuard {
 public:
  /// Call once, before the first context. False: not possible on this system; only SpiderMonkey's own check remains.
  static bool install();

  /// Sets the largest allocation on this thread. `on_growth` is called, from within malloc, each time large allocations
  /// add up to more than `growth_bytes`.
  static void set(std::size_t bytes_max, std::size_t growth_bytes, void (*on_growth)(void* argument), void* argument);
  static void clear();
};

}  // namespace octavo::query::javascript
