#pragma once

namespace octavo::query::javascript {

/// Whether this process may make memory that it has written executable, which compiled JavaScript needs. Some systems
/// refuse it (MemoryDenyWriteExecute of systemd, containers with such a filter); there functions are interpreted. Asks
/// the system once.
bool executable_memory_allowed();

}  // namespace octavo::query::javascript
