#include "query/javascript/executable_memory.h"

#include <sys/mman.h>
#include <unistd.h>

namespace octavo::query::javascript {

namespace {

// Takes the same two steps as SpiderMonkey, which ends the process if the second one is denied.
bool can_make_memory_executable() {
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  const bool allowed = mprotect(page, bytes, PROT_READ | PROT_EXEC) == 0;
  munmap(page, bytes);
  return allowed;
}

}  // namespace

bool executable_memory_allowed() {
  static const bool allowed = can_make_memory_executable();
  return allowed;
}

}  // namespace octavo::query::javascript
