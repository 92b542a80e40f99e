#pragma once

#include <cstddef>

namespace octavo::query::javascript {

/// SpiderMonkey bounds what it collects, but not what hangs on that: the characters of strings, elements of arrays,
/// buffers. It looks at those between two steps of a function, and one step can ask for a gigabyte. So its library's
/// calls of malloc, calloc and realloc are led through here (its table of imported functions is changed, nobody
/// else's), where a thread's allocations are refused beyond a size: SpiderMonkey then throws "out of memory".
class AllocationGuard {
 public:
  /// Once, before the first context. False: this system does it otherwise, and only the slower look is taken.
  static bool install();

  /// For this thread, from now on: the largest allocation. `on_growth` is called after so many bytes of larger
  /// allocations, from within malloc.
  static void set(std::size_t bytes_max, std::size_t growth_bytes, void (*on_growth)(void* argument), void* argument);
  static void clear();
};

}  // namespace octavo::query::javascript
