#include "base/machine/resources.h"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <limits>
#include <optional>
#include <sched.h>
#include <sstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace octavo {
namespace {

namespace fs = std::filesystem;

constexpr unsigned processors_max = 1U << 16;  // of which the affinity is asked for

unsigned online_processors() {
  return static_cast<unsigned>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN)));
}

/// Processors that the affinity of this process admits; also what `docker run --cpuset-cpus` limits.
std::optional<unsigned> processors_of_affinity() {
  // The kernel refuses a set that is smaller than its own, which has a bit for every processor that it could have.
  for (std::size_t count = CPU_SETSIZE; count <= processors_max; count *= 2) {
    std::vector<cpu_set_t> set(count / CPU_SETSIZE);
    const std::size_t bytes = set.size() * sizeof(cpu_set_t);
    if (::sched_getaffinity(0, bytes, set.data()) == 0) return static_cast<unsigned>(CPU_COUNT_S(bytes, set.data()));
    if (errno != EINVAL) return std::nullopt;
  }
  return std::nullopt;
}

/// A mounted file system of control groups: one for all controllers (version 2), or for some of them (version 1).
struct Hierarchy {
  bool unified = false;     ///< version 2
  std::string controllers;  ///< version 1: separated by commas, among other options
  std::string root;         ///< the group that is shown as `mount_point`
  fs::path mount_point;
};

bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const auto end = std::min(list.find(','), list.size());
    if (list.substr(0, end) == word) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

// 33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
std::vector<Hierarchy> read_hierarchies(const fs::path& root) {
  std::vector<Hierarchy> hierarchies;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    const auto separator = line.find(" - ");
    if (separator == std::string::npos) continue;
    std::istringstream mount(line.substr(0, separator));
    std::istringstream system(line.substr(separator + 3));
    std::string ignored;
    std::string mount_point;
    std::string type;
    Hierarchy hierarchy;
    mount >> ignored >> ignored >> ignored >> hierarchy.root >> mount_point;
    system >> type >> ignored >> hierarchy.controllers;
    if (type != "cgroup" && type != "cgroup2") continue;
    hierarchy.unified = type == "cgroup2";
    hierarchy.mount_point = root / fs::path(mount_point).relative_path();
    hierarchies.push_back(std::move(hierarchy));
  }
  return hierarchies;
}

/// The group of this process in a hierarchy, as in /proc/self/cgroup. Empty: it is in no group of it.
std::string own_group(const Hierarchy& hierarchy, std::string_view controller, const fs::path& root) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // 4:cpu,cpuacct:/docker/0123, or 0::/docker/0123
    const auto first = line.find(':');
    const auto second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const auto controllers = std::string_view(line).substr(first + 1, second - first - 1);
    const bool matches = hierarchy.unified ? line.starts_with("0:") : has_word(controllers, controller);
    if (matches) return line.substr(second + 1);
  }
  return {};
}

/// Folders of the group of this process and of all groups that contain it, as far as the mount shows them.
std::vector<fs::path> folders_of_groups(const Hierarchy& hierarchy, std::string_view controller, const fs::path& root) {
  std::vector<fs::path> folders{hierarchy.mount_point};
  std::string group = own_group(hierarchy, controller, root);
  // In a container, the mount point is often the process's own group, and paths to it are those of the host.
  if (hierarchy.root != "/" && group.starts_with(hierarchy.root)) group.erase(0, hierarchy.root.size());
  fs::path folder = hierarchy.mount_point;
  for (const fs::path& name : fs::path(group).relative_path()) {
    if (name == "..") break;  // a group beyond what this process may see
    folder /= name;
    folders.push_back(folder);
  }
  return folders;
}

/// The first number of a file. Nullopt: no file, `max`, or -1, which mean that there is no limit.
std::optional<std::uint64_t> limit_in(const fs::path& path) {
  std::ifstream file(path);
  long long number = -1;
  if (!(file >> number) || number <= 0) return std::nullopt;
  return static_cast<std::uint64_t>(number);
}

void lower_processors(Resources& resources, std::uint64_t quota_us, std::uint64_t period_us) {
  const std::uint64_t processors = quota_us / period_us + (quota_us % period_us != 0 ? 1 : 0);
  resources.processors = static_cast<unsigned>(std::min<std::uint64_t>(resources.processors, processors));
}

/// `100000 50000`: the quota of each period.
void apply_unified_quota(Resources& resources, const fs::path& folder) {
  std::ifstream file(folder / "cpu.max");
  long long quota_us = 0;
  long long period_us = 0;
  if (!(file >> quota_us >> period_us) || quota_us <= 0 || period_us <= 0) return;
  lower_processors(resources, static_cast<std::uint64_t>(quota_us), static_cast<std::uint64_t>(period_us));
}

void apply_quota(Resources& resources, const fs::path& folder) {
  const auto quota_us = limit_in(folder / "cpu.cfs_quota_us");
  const auto period_us = limit_in(folder / "cpu.cfs_period_us");
  if (quota_us && period_us) lower_processors(resources, *quota_us, *period_us);
}

void apply_memory_limit(Resources& resources, const fs::path& file) {
  if (const auto bytes = limit_in(file)) resources.memory_bytes = std::min(resources.memory_bytes, *bytes);
}

}  // namespace

Resources machine_resources() {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  // Without an answer, nothing is lowered.
  const bool known = pages > 0 && page_bytes > 0;
  return {.processors = online_processors(),
          .memory_bytes = known ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
                                : std::numeric_limits<std::uint64_t>::max()};
}

Resources within_control_groups(Resources resources, const fs::path& root) {
  for (const Hierarchy& hierarchy : read_hierarchies(root)) {
    if (hierarchy.unified) {
      for (const fs::path& folder : folders_of_groups(hierarchy, {}, root)) {
        apply_unified_quota(resources, folder);
        apply_memory_limit(resources, folder / "memory.max");
        apply_memory_limit(resources, folder / "memory.high");
      }
      continue;
    }
    if (has_word(hierarchy.controllers, "cpu")) {
      for (const fs::path& folder : folders_of_groups(hierarchy, "cpu", root)) apply_quota(resources, folder);
    }
    if (has_word(hierarchy.controllers, "memory")) {
      for (const fs::path& folder : folders_of_groups(hierarchy, "memory", root)) {
        apply_memory_limit(resources, folder / "memory.limit_in_bytes");
      }
    }
  }
  return resources;
}

const Resources& available_resources() {
  static const Resources available = [] {
    Resources resources = machine_resources();
    if (const auto processors = processors_of_affinity()) {
      resources.processors = std::clamp(*processors, 1U, resources.processors);
    }
    return within_control_groups(resources);
  }();
  return available;
}

}  // namespace octavo
