#include "base/folder.h"

#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <unistd.h>

namespace octavo::storage {
namespace {

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using OpenFolder = std::unique_ptr<DIR, CloseFolder>;

/// Null: errno has the reason.
OpenFolder open_folder(int parent, const char* name) {
  const int descriptor = ::openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  OpenFolder folder(::fdopendir(descriptor));
  if (folder) return folder;
  const int code = errno;
  ::close(descriptor);
  errno = code;
  return nullptr;
}

/// Null at the end, with errno 0, or after an error.
const dirent* next_entry(DIR* folder) {
  do {
    errno = 0;
    const dirent* const entry = ::readdir(folder);
    if (entry == nullptr) return nullptr;
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) return entry;
  } while (true);
}

/// 0, or the errno of the entry that could not be removed.
int remove_in(int parent, const char* name) {
  if (::unlinkat(parent, name, 0) == 0 || errno == ENOENT) return 0;
  if (errno != EISDIR && errno != EPERM) return errno;
  const int refusal = errno;
  const OpenFolder folder = open_folder(parent, name);
  if (!folder) return errno == ENOTDIR ? refusal : errno;
  while (const dirent* const entry = next_entry(folder.get())) {
    if (const int code = remove_in(::dirfd(folder.get()), entry->d_name); code != 0) return code;
  }
  if (errno != 0) return errno;
  return ::unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : errno;
}

}  // namespace

void sync_folder(const std::filesystem::path& folder, std::error_code& error) noexcept {
  error.clear();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0 || ::fsync(descriptor) != 0) error.assign(errno, std::generic_category());
  if (descriptor >= 0) ::close(descriptor);
}

void replace_file(const std::filesystem::path& path, std::string_view text, std::error_code& error) {
  error.clear();
  const std::filesystem::path draft = path.string() + ".new";
  const int descriptor = ::open(draft.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) {
    error.assign(errno, std::generic_category());
    return;
  }
  errno = EIO;  // of a write that was cut short
  const bool written =
      ::write(descriptor, text.data(), text.size()) == static_cast<ssize_t>(text.size()) && ::fsync(descriptor) == 0;
  if (!written) error.assign(errno, std::generic_category());
  ::close(descriptor);
  if (!error) std::filesystem::rename(draft, path, error);
}

std::vector<std::string> folder_entries(const std::filesystem::path& folder, std::error_code& error) {
  std::vector<std::string> names;
  error.clear();
  const OpenFolder open(::opendir(folder.c_str()));
  if (open) {
    while (const dirent* const entry = next_entry(open.get())) names.emplace_back(entry->d_name);
  }
  if (errno != 0) error.assign(errno, std::generic_category());
  return names;
}

void remove_folder(const std::filesystem::path& folder, std::error_code& error) noexcept {
  error.assign(remove_in(AT_FDCWD, folder.c_str()), std::generic_category());
}

void remove_stray_folders(const std::filesystem::path& folder, std::string_view prefix,
                          FunctionRef<bool(std::string_view identity)> is_known) {
  std::error_code error;
  for (const std::string& name : folder_entries(folder, error)) {
    if (!name.starts_with(prefix) || is_known(std::string_view(name).substr(prefix.size()))) continue;
    std::error_code ignored;
    remove_folder(folder / name, ignored);
  }
}

}  // namespace octavo::storage
