// no_executable_memory PROGRAM ARGUMENTS...: runs the program where memory that was written may not become executable,
// as MemoryDenyWriteExecute of systemd has it: mmap of writable and executable memory, and mprotect that makes memory
// executable, are refused with EPERM.
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

constexpr unsigned protection_argument = 2;  // of mmap and mprotect
constexpr unsigned protection_offset = offsetof(seccomp_data, args) + protection_argument * sizeof(__u64);
constexpr unsigned write_execute = PROT_WRITE | PROT_EXEC;

// Only native system calls of this machine are made by the program, so its architecture is not looked at.
constexpr std::array filter_instructions{
    sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mmap, 1, 0),
    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_mprotect, 3, 6),
    // mmap
    sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, protection_offset),
    sock_filter BPF_STMT(BPF_ALU | BPF_AND | BPF_K, write_execute),
    sock_filter BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, write_execute, 2, 3),
    // mprotect
    sock_filter BPF_STMT(BPF_LD | BPF_W | BPF_ABS, protection_offset),
    sock_filter BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    sock_filter BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

int fail(const char* what) {
  std::perror(what);
  return EXIT_FAILURE;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return fail("no_executable_memory PROGRAM ARGUMENTS...");
  auto filter = filter_instructions;
  const sock_fprog program{.len = filter.size(), .filter = filter.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return fail("prctl(PR_SET_NO_NEW_PRIVS)");
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) return fail("prctl(PR_SET_SECCOMP)");
  execvp(argv[1], argv + 1);
  return fail(argv[1]);
}
