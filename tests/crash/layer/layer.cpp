#include "tests/crash/layer/layer.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <utility>

namespace file_layer {
namespace {

/// Absolute, without "." and "//"; symbolic links stay as they are.
std::string absolute_path(int folder, const char* path) {
  std::string text;
  if (path[0] != '/') {
    std::array<char, 4096> buffer{};
    const std::string link = folder == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/" + std::to_string(folder);
    const long size = syscall(SYS_readlink, link.c_str(), buffer.data(), buffer.size());
    if (size > 0) text.assign(buffer.data(), static_cast<std::size_t>(size));
    text += '/';
  }
  text += path;
  std::string result;
  std::size_t position = 0;
  while (position < text.size()) {
    std::size_t end = text.find('/', position);
    if (end == std::string::npos) end = text.size();
    const std::string_view part = std::string_view(text).substr(position, end - position);
    if (part == "..") {
      result.resize(std::min(result.size(), result.rfind('/')));
    } else if (!part.empty() && part != ".") {
      (result += '/') += part;
    }
    position = end + 1;
  }
  return result;
}

}  // namespace

Layer& Layer::instance() {
  // Never destroyed: files are closed until the very end of the program.
  static Layer* const layer = new Layer;
  return *layer;
}

Layer::Layer() : files_(new std::atomic<const OpenFile*>[descriptors_max]()) {
  const char* root = std::getenv("FILE_LAYER_ROOT");
  if (root == nullptr || root[0] != '/') return;
  root_ = absolute_path(AT_FDCWD, root);
  if (const char* faults = std::getenv("FILE_LAYER_FAULTS")) faults_.use(faults);
  if (const char* log = std::getenv("FILE_LAYER_LOG")) {
    log_ = static_cast<int>(raw_open(AT_FDCWD, log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_APPEND, 0600));
    if (log_ < 0) give_up("cannot create the log");
  }
}

std::optional<std::string> Layer::below_root(int folder, const char* path) const {
  if (root_.empty() || path == nullptr) return std::nullopt;
  std::string absolute = absolute_path(folder, path);
  if (absolute == root_) return "";
  if (!absolute.starts_with(root_) || absolute[root_.size()] != '/') return std::nullopt;
  return absolute.substr(root_.size() + 1);
}

const OpenFile* Layer::file(int fd) const {
  if (fd < 0 || fd >= descriptors_max) return nullptr;
  return files_[static_cast<std::size_t>(fd)].load(std::memory_order_acquire);
}

void Layer::set_file(int fd, const OpenFile* file) {
  if (fd >= descriptors_max) give_up("too many open files");
  if (fd >= 0) files_[static_cast<std::size_t>(fd)].store(file, std::memory_order_release);
}

const OpenFile* Layer::add_file(int fd, std::string path, std::uint16_t flags) {
  const std::lock_guard lock(mutex_);
  // Stays when it is closed: another thread may still look at it. They are few.
  auto* file = new OpenFile{++last_handle_, (flags & synced_flag) != 0, (flags & folder_flag) != 0, std::move(path)};
  set_file(fd, file);
  record(Kind::open, flags, file->handle, 0, 0, file->path);
  return file;
}

std::uint64_t Layer::record(Kind kind, std::uint16_t flags, std::uint32_t handle, std::uint64_t offset,
                            std::uint64_t length, const iovec* parts, int count) {
  if (log_ < 0) return 0;
  const ErrnoKeeper keeper;
  std::string bytes(sizeof(Record), '\0');
  for (int i = 0; i < count; ++i) bytes.append(static_cast<const char*>(parts[i].iov_base), parts[i].iov_len);
  if (kind == Kind::write) bytes.resize(sizeof(Record) + length);
  const std::lock_guard lock(mutex_);
  const Record head{static_cast<std::uint32_t>(bytes.size()),
                    static_cast<std::uint16_t>(kind),
                    flags,
                    ++sequence_,
                    now_ns(),
                    handle,
                    0,
                    offset,
                    length};
  std::memcpy(bytes.data(), &head, sizeof(head));
  if (!raw_write_all(log_, bytes)) give_up("cannot write the log");
  return head.sequence;
}

}  // namespace file_layer
