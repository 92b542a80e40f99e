// A layer between a program and its files, put there with LD_PRELOAD: it records what the program writes and syncs
// below one folder, and makes such calls fail when told to.
//
//   FILE_LAYER_ROOT     absolute path of the folder; calls elsewhere pass through untouched
//   FILE_LAYER_LOG      record to this file (an existing one is replaced)
//   FILE_LAYER_FAULTS   take faults from this control file
//
//
// The format of the log stands in layer/layer.h, that of the control file in layer/fault_rules.h.
//
// Besides system calls, FILE* streams opened for writing are caught: they are recorded as the writes they come down to.

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "tests/crash/layer/fault_rules.h"
#include "tests/crash/layer/layer.h"
#include "tests/crash/layer/raw_calls.h"

namespace {

using namespace file_layer;  // NOLINT(google-build-using-namespace): all of this file is the layer's

// --- what the interposed calls share ---

int open_file(int folder, const char* path, int flags, mode_t mode) {
  Layer& layer = Layer::instance();
  std::optional<std::string> name = layer.below_root(folder, path);
  if (!name) {
    const int fd = static_cast<int>(raw_open(folder, path, flags, mode));
    if (layer.active() && fd >= 0) layer.set_file(fd, nullptr);
    return fd;
  }
  const std::lock_guard lock(layer.mutex());
  struct stat before{};
  const bool existed = syscall(SYS_newfstatat, folder, path, &before, 0) == 0;
  const bool creates = !existed && (flags & O_CREAT) != 0;
  if (!layer.faults().permits(creates ? Operation::create : Operation::open, *name)) {
    errno = FaultRules::failing();
    return -1;
  }
  const int fd = static_cast<int>(raw_open(folder, path, flags, mode));
  if (fd < 0) return fd;
  const ErrnoKeeper keeper;
  const bool is_folder = existed && S_ISDIR(before.st_mode);
  const bool synced = (flags & (O_DSYNC | O_SYNC)) != 0;
  const bool emptied = existed && (flags & O_TRUNC) != 0;
  layer.add_file(fd, *std::move(name),
                 static_cast<std::uint16_t>((creates ? created_flag : 0) | (synced ? synced_flag : 0) |
                                            (emptied ? emptied_flag : 0) | (is_folder ? folder_flag : 0)));
  return fd;
}

std::uint64_t size_of(int fd) {
  struct stat status{};
  return syscall(SYS_fstat, fd, &status) == 0 ? static_cast<std::uint64_t>(status.st_size) : 0;
}

/// All four kinds of writes. `offset` < 0: at the descriptor's position.
ssize_t write_file(int fd, const iovec* parts, int count, off_t offset) {
  Layer& layer = Layer::instance();
  const OpenFile* file = layer.file(fd);
  std::vector<iovec> shortened;
  if (file != nullptr) {
    std::size_t bytes = 0;
    for (int i = 0; i < count; ++i) bytes += parts[i].iov_len;
    const std::size_t wanted = bytes;
    const off_t start = offset >= 0 ? offset : std::max<off_t>(0, syscall(SYS_lseek, fd, 0, SEEK_CUR));
    const std::uint64_t size = size_of(fd);
    const std::uint64_t end = static_cast<std::uint64_t>(start) + bytes;
    const std::uint64_t growth = end > size ? std::min<std::uint64_t>(bytes, end - size) : 0;
    if (!layer.faults().permits(file->synced ? Operation::synced_write : Operation::write, file->path, &bytes,
                                growth)) {
      errno = FaultRules::failing();
      return -1;
    }
    if (bytes < wanted) {
      for (int i = 0; i < count && bytes > 0; ++i) {
        shortened.push_back({parts[i].iov_base, std::min(bytes, parts[i].iov_len)});
        bytes -= shortened.back().iov_len;
      }
      parts = shortened.data();
      count = static_cast<int>(shortened.size());
    }
  }
  const ssize_t written =
      offset >= 0 ? syscall(SYS_pwritev, fd, parts, count, offset, 0) : syscall(SYS_writev, fd, parts, count);
  if (file != nullptr) FaultRules::wait();
  if (file != nullptr && written > 0) {
    const ErrnoKeeper keeper;
    const off_t position = offset >= 0 ? offset : syscall(SYS_lseek, fd, 0, SEEK_CUR) - written;
    layer.record(Kind::write, file->synced ? synced_flag : 0, file->handle, static_cast<std::uint64_t>(position),
                 static_cast<std::uint64_t>(written), parts, count);
  }
  return written;
}

int sync_file(int fd, bool data_only) {
  Layer& layer = Layer::instance();
  const OpenFile* file = layer.file(fd);
  if (file == nullptr) return static_cast<int>(syscall(data_only ? SYS_fdatasync : SYS_fsync, fd));
  if (!layer.faults().permits(data_only ? Operation::fdatasync : Operation::fsync, file->path)) {
    errno = FaultRules::failing();
    return -1;
  }
  const std::uint64_t begin = layer.record(Kind::sync_begins, data_only ? data_only_flag : 0, file->handle, 0, 0);
  const int result = static_cast<int>(syscall(data_only ? SYS_fdatasync : SYS_fsync, fd));
  FaultRules::wait();
  if (result == 0) layer.record(Kind::sync_ends, 0, file->handle, begin, 0);
  return result;
}

/// A change of a folder: made and recorded as one step. `call` returns 0 or -1 with errno.
template <class Call>
int change_folder(Kind kind, Operation operation, int folder, const char* path, Call call) {
  Layer& layer = Layer::instance();
  const std::optional<std::string> name = layer.below_root(folder, path);
  if (!name) return call();
  const std::lock_guard lock(layer.mutex());
  if (!layer.faults().permits(operation, *name)) {
    errno = FaultRules::failing();
    return -1;
  }
  const int result = call();
  if (result == 0) layer.record(kind, 0, 0, 0, 0, *name);
  return result;
}

int rename_file(int old_folder, const char* old_path, int new_folder, const char* new_path, unsigned flags) {
  const auto call = [&] {
    return static_cast<int>(syscall(SYS_renameat2, old_folder, old_path, new_folder, new_path, flags));
  };
  Layer& layer = Layer::instance();
  const auto old_name = layer.below_root(old_folder, old_path);
  const auto new_name = layer.below_root(new_folder, new_path);
  if (!old_name && !new_name) return call();
  const std::lock_guard lock(layer.mutex());
  if (!layer.faults().permits(Operation::rename, new_name ? *new_name : *old_name)) {
    errno = FaultRules::failing();
    return -1;
  }
  const int result = call();
  if (result == 0) {
    if (old_name && new_name && flags == 0) {
      layer.record(Kind::rename, 0, 0, 0, 0, *old_name + std::string(1, '\0') + *new_name);
    } else {
      layer.record(Kind::unsupported, 0, 0, 0, 0, "rename across the root, or with flags");
    }
  }
  return result;
}

/// Growth by ftruncate and fallocate takes space as a write does.
bool permits_growth(int fd, const OpenFile& file, std::uint64_t end) {
  const std::uint64_t size = size_of(fd);
  if (end <= size) return true;
  const bool permitted = Layer::instance().faults().permits(Operation::write, file.path, nullptr, end - size);
  if (!permitted) errno = FaultRules::failing();
  return permitted;
}

int truncate_file(int fd, off_t size) {
  Layer& layer = Layer::instance();
  const OpenFile* file = layer.file(fd);
  if (file != nullptr && !permits_growth(fd, *file, static_cast<std::uint64_t>(size))) return -1;
  const int result = static_cast<int>(syscall(SYS_ftruncate, fd, size));
  if (file != nullptr && result == 0) {
    layer.record(Kind::truncate, 0, file->handle, 0, static_cast<std::uint64_t>(size));
  }
  return result;
}

int allocate_file(int fd, int mode, off_t offset, off_t length) {
  Layer& layer = Layer::instance();
  const OpenFile* file = layer.file(fd);
  if (file != nullptr && !permits_growth(fd, *file, static_cast<std::uint64_t>(offset + length))) return -1;
  const int result = static_cast<int>(syscall(SYS_fallocate, fd, mode, offset, length));
  if (file != nullptr && result == 0) {
    if (mode == 0) {
      layer.record(Kind::allocate, 0, file->handle, static_cast<std::uint64_t>(offset),
                   static_cast<std::uint64_t>(length));
    } else if (mode != FALLOC_FL_KEEP_SIZE) {  // which changes neither contents nor size
      layer.record(Kind::unsupported, 0, file->handle, 0, 0, "fallocate with a mode");
    }
  }
  return result;
}

void* map_file(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) {
  void* result = reinterpret_cast<void*>(syscall(SYS_mmap, address, length, protection, flags, fd, offset));
  if (fd < 0 || result == MAP_FAILED) return result;
  if ((flags & MAP_SHARED) == 0 || (protection & PROT_WRITE) == 0) return result;
  Layer& layer = Layer::instance();
  if (const OpenFile* file = layer.file(fd)) {
    layer.record(Kind::writable_map, 0, file->handle, static_cast<std::uint64_t>(offset), length);
  }
  return result;
}

void forget_file(int fd) {
  Layer& layer = Layer::instance();
  const OpenFile* file = layer.file(fd);
  if (file == nullptr) return;
  // Before the descriptor is closed: then another thread may be given the same number.
  layer.set_file(fd, nullptr);
  layer.record(Kind::close, 0, file->handle, 0, 0);
}

int duplicate(int fd, int result) {
  Layer& layer = Layer::instance();
  if (result >= 0 && layer.active()) layer.set_file(result, layer.file(fd));
  return result;
}

/// Descriptors of the streams below: the C library gives none for such a stream, and C++'s file streams write to it.
class StreamDescriptors {
 public:
  void add(FILE* stream, int fd) {
    const std::lock_guard lock(mutex_);
    descriptors_[stream] = fd;
  }
  void remove(int fd) {
    const std::lock_guard lock(mutex_);
    std::erase_if(descriptors_, [&](const auto& entry) { return entry.second == fd; });
  }
  std::optional<int> find(FILE* stream) {
    const std::lock_guard lock(mutex_);
    const auto found = descriptors_.find(stream);
    return found == descriptors_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::mutex mutex_;
  std::map<FILE*, int> descriptors_;
};

StreamDescriptors& stream_descriptors() {
  static auto* const of_the_program = new StreamDescriptors;
  return *of_the_program;
}

/// A stream whose bytes come through write_file: this library cannot see the writes of the C library's own streams.
FILE* open_stream(const char* path, const char* mode) {
  const std::string_view how(mode);
  const bool update = how.find('+') != std::string_view::npos;
  const int flags = how[0] == 'w'   ? O_CREAT | O_TRUNC | (update ? O_RDWR : O_WRONLY)
                    : how[0] == 'a' ? O_CREAT | O_APPEND | (update ? O_RDWR : O_WRONLY)
                                    : O_RDWR;
  const int fd = open_file(AT_FDCWD, path, flags | O_CLOEXEC, 0666);
  if (fd < 0) return nullptr;
  cookie_io_functions_t functions{};
  functions.read = [](void* cookie, char* data, std::size_t size) -> ssize_t {
    return syscall(SYS_read, static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), data, size);
  };
  functions.write = [](void* cookie, const char* data, std::size_t size) -> ssize_t {
    const iovec part{const_cast<char*>(data), size};
    const ssize_t written = write_file(static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), &part, 1, -1);
    return std::max<ssize_t>(written, 0);
  };
  functions.seek = [](void* cookie, off64_t* offset, int whence) -> int {
    const off64_t to = syscall(SYS_lseek, static_cast<int>(reinterpret_cast<std::intptr_t>(cookie)), *offset, whence);
    if (to < 0) return -1;
    *offset = to;
    return 0;
  };
  functions.close = [](void* cookie) -> int {
    const int descriptor = static_cast<int>(reinterpret_cast<std::intptr_t>(cookie));
    stream_descriptors().remove(descriptor);
    forget_file(descriptor);
    return static_cast<int>(syscall(SYS_close, descriptor));
  };
  FILE* const stream = fopencookie(reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)), mode, functions);
  if (stream != nullptr) stream_descriptors().add(stream, fd);
  return stream;
}

bool is_for_writing(const char* mode) {
  return std::strpbrk(mode, "wa+") != nullptr;
}

}  // namespace

// --- the interposed calls ---

#pragma GCC visibility push(default)
extern "C" {

int openat(int folder, const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return open_file(folder, path, flags, mode);
}

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & (O_CREAT | O_TMPFILE)) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  return open_file(AT_FDCWD, path, flags, mode);
}

int open64(const char* path, int flags, ...) __attribute__((alias("open")));
int openat64(int folder, const char* path, int flags, ...) __attribute__((alias("openat")));

int creat(const char* path, mode_t mode) {
  return open_file(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode);
}

FILE* fopen(const char* path, const char* mode) {
  if (is_for_writing(mode) && Layer::instance().below_root(AT_FDCWD, path)) return open_stream(path, mode);
  static const auto next = next_function<FILE* (*)(const char*, const char*)>("fopen");
  return next(path, mode);
}

FILE* fopen64(const char* path, const char* mode) {
  return fopen(path, mode);
}

int fileno(FILE* stream) noexcept {
  if (const auto fd = stream_descriptors().find(stream)) return *fd;
  static const auto next = next_function<int (*)(FILE*)>("fileno");
  return next(stream);
}

int close(int fd) {
  forget_file(fd);
  return static_cast<int>(syscall(SYS_close, fd));
}

int closedir(DIR* folder) {
  static const auto next = next_function<int (*)(DIR*)>("closedir");
  forget_file(dirfd(folder));
  return next(folder);
}

int dup(int fd) {
  return duplicate(fd, static_cast<int>(syscall(SYS_dup, fd)));
}
int dup2(int fd, int wanted) {
  return duplicate(fd, static_cast<int>(syscall(SYS_dup2, fd, wanted)));
}
int dup3(int fd, int wanted, int flags) {
  return duplicate(fd, static_cast<int>(syscall(SYS_dup3, fd, wanted, flags)));
}

ssize_t write(int fd, const void* data, std::size_t size) {
  if (Layer::instance().file(fd) == nullptr) return raw_write(fd, data, size);
  const iovec part{const_cast<void*>(data), size};
  return write_file(fd, &part, 1, -1);
}

ssize_t pwrite(int fd, const void* data, std::size_t size, off_t offset) {
  const iovec part{const_cast<void*>(data), size};
  return write_file(fd, &part, 1, offset);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  return write_file(fd, parts, count, -1);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  return write_file(fd, parts, count, offset);
}

ssize_t pwrite64(int fd, const void* data, std::size_t size, off64_t offset) __attribute__((alias("pwrite")));
ssize_t pwritev64(int fd, const iovec* parts, int count, off64_t offset) __attribute__((alias("pwritev")));

int fsync(int fd) {
  return sync_file(fd, false);
}
int fdatasync(int fd) {
  return sync_file(fd, true);
}

int msync(void* address, std::size_t length, int flags) {
  Layer& layer = Layer::instance();
  if (layer.active()) layer.record(Kind::msync, 0, 0, reinterpret_cast<std::uintptr_t>(address), length);
  return static_cast<int>(syscall(SYS_msync, address, length, flags));
}

int ftruncate(int fd, off_t size) noexcept {
  return truncate_file(fd, size);
}
int ftruncate64(int fd, off64_t size) noexcept {
  return truncate_file(fd, size);
}

int truncate(const char* path, off_t size) noexcept {
  Layer& layer = Layer::instance();
  const auto name = layer.below_root(AT_FDCWD, path);
  const int result = static_cast<int>(syscall(SYS_truncate, path, size));
  if (name && result == 0) layer.record(Kind::truncate, 0, 0, 0, static_cast<std::uint64_t>(size), *name);
  return result;
}

int fallocate(int fd, int mode, off_t offset, off_t length) {
  return allocate_file(fd, mode, offset, length);
}
int fallocate64(int fd, int mode, off64_t offset, off64_t length) {
  return allocate_file(fd, mode, offset, length);
}
int posix_fallocate(int fd, off_t offset, off_t length) {
  return allocate_file(fd, 0, offset, length) == 0 ? 0 : errno;
}
int posix_fallocate64(int fd, off64_t offset, off64_t length) {
  return allocate_file(fd, 0, offset, length) == 0 ? 0 : errno;
}

int rename(const char* old_path, const char* new_path) noexcept {
  return rename_file(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}
int renameat(int old_folder, const char* old_path, int new_folder, const char* new_path) noexcept {
  return rename_file(old_folder, old_path, new_folder, new_path, 0);
}
int renameat2(int old_folder, const char* old_path, int new_folder, const char* new_path, unsigned flags) noexcept {
  return rename_file(old_folder, old_path, new_folder, new_path, flags);
}

int unlinkat(int folder, const char* path, int flags) noexcept {
  return change_folder((flags & AT_REMOVEDIR) != 0 ? Kind::rmdir : Kind::unlink, Operation::unlink, folder, path,
                       [&] { return static_cast<int>(syscall(SYS_unlinkat, folder, path, flags)); });
}
int unlink(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, 0);
}
int rmdir(const char* path) noexcept {
  return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}
int remove(const char* path) noexcept {
  const int result = unlinkat(AT_FDCWD, path, 0);
  return result != 0 && errno == EISDIR ? unlinkat(AT_FDCWD, path, AT_REMOVEDIR) : result;
}

int mkdirat(int folder, const char* path, mode_t mode) noexcept {
  return change_folder(Kind::mkdir, Operation::create, folder, path,
                       [&] { return static_cast<int>(syscall(SYS_mkdirat, folder, path, mode)); });
}
int mkdir(const char* path, mode_t mode) noexcept {
  return mkdirat(AT_FDCWD, path, mode);
}

int linkat(int old_folder, const char* old_path, int new_folder, const char* new_path, int flags) noexcept {
  Layer& layer = Layer::instance();
  const int result = static_cast<int>(syscall(SYS_linkat, old_folder, old_path, new_folder, new_path, flags));
  if (result == 0 && layer.below_root(new_folder, new_path)) layer.record(Kind::unsupported, 0, 0, 0, 0, "link");
  return result;
}
int link(const char* old_path, const char* new_path) noexcept {
  return linkat(AT_FDCWD, old_path, AT_FDCWD, new_path, 0);
}
int symlink(const char* target, const char* path) noexcept {
  Layer& layer = Layer::instance();
  const int result = static_cast<int>(syscall(SYS_symlink, target, path));
  if (result == 0 && layer.below_root(AT_FDCWD, path)) layer.record(Kind::unsupported, 0, 0, 0, 0, "symlink");
  return result;
}

void* mmap(void* address, std::size_t length, int protection, int flags, int fd, off_t offset) noexcept {
  return map_file(address, length, protection, flags, fd, offset);
}
void* mmap64(void* address, std::size_t length, int protection, int flags, int fd, off64_t offset) noexcept {
  return map_file(address, length, protection, flags, fd, offset);
}
}  // extern "C"
#pragma GCC visibility pop
