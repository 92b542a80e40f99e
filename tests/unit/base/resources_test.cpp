// The resources of a process are those of its machine, less what control groups take away. The groups are folders and
// files, here made in a temporary folder as the kernel shows them.
#include "base/machine/resources.h"

#include <filesystem>
#include <fstream>
#include <string_view>

#include <catch2/catch.hpp>

#include "support/temporary_folder.h"

using namespace octavo;

namespace {

constexpr std::uint64_t mebibyte = 1ULL << 20;
constexpr Resources machine{.processors = 64, .memory_bytes = 256ULL << 30};

/// A root folder with `proc` and `sys`.
class FakeSystem {
 public:
  void write(const std::filesystem::path& path, std::string_view text) {
    std::filesystem::create_directories((folder_.path() / path).parent_path());
    std::ofstream(folder_.path() / path) << text << '\n';
  }
  /// A system with version 2 in which the process is in `group`; the mount point shows the group `root`.
  void mount_unified(std::string_view group, std::string_view root = "/") {
    write("proc/self/cgroup", "0::" + std::string(group));
    write("proc/self/mountinfo", "22 1 0:20 / /proc rw shared:3 - proc proc rw\n30 22 0:26 " + std::string(root) +
                                     " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate");
  }
  Resources resources() const { return within_control_groups(machine, folder_.path()); }

 private:
  tests::TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("without control groups a process has the whole machine") {
  CHECK(FakeSystem().resources() == machine);
}

TEST_CASE("groups without limits leave the whole machine") {
  FakeSystem system;
  system.mount_unified("/user.slice");
  system.write("sys/fs/cgroup/user.slice/cpu.max", "max 100000");
  system.write("sys/fs/cgroup/user.slice/memory.max", "max");
  system.write("sys/fs/cgroup/user.slice/memory.high", "max");
  CHECK(system.resources() == machine);
}

TEST_CASE("a container that sees its own group as the root has that group's limits") {
  FakeSystem system;
  system.mount_unified("/");
  system.write("sys/fs/cgroup/cpu.max", "200000 100000");
  system.write("sys/fs/cgroup/memory.max", "134217728");
  CHECK(system.resources() == Resources{.processors = 2, .memory_bytes = 128 * mebibyte});
}

TEST_CASE("a quota that is no whole number of processors is rounded up") {
  FakeSystem system;
  system.mount_unified("/");
  system.write("sys/fs/cgroup/cpu.max", "150000 100000");
  CHECK(system.resources().processors == 2);
  system.write("sys/fs/cgroup/cpu.max", "1000 100000");
  CHECK(system.resources().processors == 1);
}

TEST_CASE("a quota of more processors than the machine has changes nothing") {
  FakeSystem system;
  system.mount_unified("/");
  system.write("sys/fs/cgroup/cpu.max", "12800000 100000");
  CHECK(system.resources() == machine);
}

TEST_CASE("the limits of all groups that contain the process hold") {
  FakeSystem system;
  system.mount_unified("/pods/pod1/octavo");
  system.write("sys/fs/cgroup/pods/memory.max", "4294967296");
  system.write("sys/fs/cgroup/pods/pod1/memory.max", "536870912");
  system.write("sys/fs/cgroup/pods/pod1/octavo/memory.max", "max");
  system.write("sys/fs/cgroup/pods/pod1/octavo/memory.high", "1073741824");
  system.write("sys/fs/cgroup/pods/cpu.max", "400000 100000");
  system.write("sys/fs/cgroup/pods/pod1/octavo/cpu.max", "800000 100000");
  CHECK(system.resources() == Resources{.processors = 4, .memory_bytes = 512 * mebibyte});
}

TEST_CASE("memory.high counts, because beyond it the process is slowed down") {
  FakeSystem system;
  system.mount_unified("/");
  system.write("sys/fs/cgroup/memory.max", "268435456");
  system.write("sys/fs/cgroup/memory.high", "201326592");
  CHECK(system.resources().memory_bytes == 192 * mebibyte);
}

TEST_CASE("paths of the host lead to the group that the mount shows") {
  FakeSystem system;
  system.mount_unified("/docker/0123/inner", "/docker/0123");
  system.write("sys/fs/cgroup/memory.max", "268435456");
  system.write("sys/fs/cgroup/inner/memory.max", "134217728");
  CHECK(system.resources().memory_bytes == 128 * mebibyte);
}

TEST_CASE("a group outside of what the process may see leaves the limits of the mount point") {
  FakeSystem system;
  system.mount_unified("/../../other");
  system.write("sys/fs/cgroup/memory.max", "268435456");
  CHECK(system.resources().memory_bytes == 256 * mebibyte);
}

TEST_CASE("version 1 has a hierarchy for each kind of limit") {
  FakeSystem system;
  system.write("proc/self/cgroup", "9:memory:/docker/0123\n4:cpu,cpuacct:/docker/0123\n2:cpuset:/docker/0123\n0::/");
  system.write("proc/self/mountinfo",
               "33 31 0:30 /docker/0123 /sys/fs/cgroup/cpu,cpuacct ro shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
               "34 31 0:31 /docker/0123 /sys/fs/cgroup/cpuset ro shared:9 - cgroup cgroup rw,cpuset\n"
               "35 31 0:32 /docker/0123 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
               "41 31 0:38 / /sys/fs/cgroup/unified ro - cgroup2 cgroup2 rw");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000");
  system.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728");
  CHECK(system.resources() == Resources{.processors = 3, .memory_bytes = 128 * mebibyte});
}

TEST_CASE("version 1 says in numbers that there is no limit") {
  FakeSystem system;
  system.write("proc/self/cgroup", "9:memory:/\n4:cpu:/");
  system.write("proc/self/mountinfo",
               "33 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
               "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
  system.write("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000");
  system.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712");
  CHECK(system.resources() == machine);
}

TEST_CASE("files that are no control groups' are ignored") {
  FakeSystem system;
  system.mount_unified("/");
  system.write("sys/fs/cgroup/cpu.max", "nonsense");
  system.write("sys/fs/cgroup/memory.max", "");
  CHECK(system.resources() == machine);
}

TEST_CASE("this process may use a part of this machine") {
  const Resources whole = machine_resources();
  const Resources& available = available_resources();
  CHECK(available.processors >= 1);
  CHECK(available.processors <= whole.processors);
  CHECK(available.memory_bytes > 0);
  CHECK(available.memory_bytes <= whole.memory_bytes);
}
