#pragma once

namespace octavo::query::javascript {

/// Whether this process may make memory executable after writing it, which compiled JavaScript needs. Some systems deny
/// this (MemoryDenyWriteExecute in systemd, containers with such a filter); functions are then interpreted. Tries it
/// once and remembers the result.
bool executable_memory_allowed();

}  // namespace octavo::query::javascript
