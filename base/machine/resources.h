#pragma once

#include <cstdint>
#include <filesystem>

namespace octavo {

/// What a process may use of its machine. Threads, JavaScript heaps and buffers are sized by this, and not by what the
/// machine has: a container, a service or `taskset` often gives a process only a part of it.
struct Resources {
  unsigned processors = 1;         ///< that may be busy at once; at least 1
  std::uint64_t memory_bytes = 0;  ///< beyond this the system ends the process or slows it down

  bool operator==(const Resources&) const = default;
};

/// The processors that are online and the physical memory.
Resources machine_resources();

/// The resources of this process: those of the machine, less what its processor affinity and its control groups take
/// away. Read at the first call; a limit that changes later takes effect at the next start.
const Resources& available_resources();

/// Lowers `resources` to the limits of the control groups that contain this process: quotas of processor time, rounded
/// up to whole processors, and limits of memory; of both versions of control groups, as far up as they are visible.
/// `root` is the folder that contains `proc` and `sys`; tests give another one than `/`.
Resources within_control_groups(Resources resources, const std::filesystem::path& root = "/");

}  // namespace octavo
