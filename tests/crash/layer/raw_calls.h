#pragma once

#include <cerrno>
#include <cstdint>
#include <ctime>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

/// The calls themselves, past the layer.
namespace file_layer {

inline long raw_open(int folder, const char* path, int flags, mode_t mode) {
  return syscall(SYS_openat, folder, path, flags, mode);
}
inline ssize_t raw_write(int fd, const void* data, std::size_t size) {
  return syscall(SYS_write, fd, data, size);
}

inline bool raw_write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = raw_write(fd, bytes.data(), bytes.size());
    if (written <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// A function of the C library that is more than one system call.
template <class Function>
Function next_function(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

[[noreturn]] inline void give_up(const char* what) {
  static_cast<void>(raw_write_all(2, std::string("file layer: ") + what + "\n"));
  _exit(97);
}

/// Keeps errno as the call left it.
class ErrnoKeeper {
 public:
  ~ErrnoKeeper() { errno = saved_; }

 private:
  int saved_ = errno;
};

inline std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace file_layer
