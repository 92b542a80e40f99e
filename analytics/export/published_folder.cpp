#include "analytics/export/published_folder.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "analytics/export/disk_failure.h"
#include "base/folder.h"

namespace octavo::analytics {

namespace {

namespace fs = std::filesystem;

Expected<void> remove_left(const fs::path& folder) {
  std::error_code failed;
  storage::remove_folder(folder, failed);
  if (failed) return disk_failure("Cannot remove the folder", folder, failed);
  return {};
}

Expected<void> move_folder(const fs::path& from, const fs::path& to) {
  std::error_code failed;
  fs::rename(from, to, failed);
  if (failed) return disk_failure("Cannot rename the folder", from, failed);
  return {};
}

}  // namespace

PublishedFolder::PublishedFolder(const fs::path& parent, const std::string& name, Descriptor lock)
    : parent_(parent),
      current_(parent / name),
      successor_(parent / fmt::format(".{}.next", name)),
      former_(parent / fmt::format(".{}.former", name)),
      lock_(std::move(lock)) {}

Expected<PublishedFolder> PublishedFolder::open(const fs::path& parent, const std::string& name) {
  std::error_code failed;
  fs::create_directories(parent, failed);
  if (failed) return disk_failure("Cannot make the folder", parent, failed);
  const fs::path lock_file = parent / fmt::format(".{}.lock", name);
  Descriptor lock(::open(lock_file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock) return disk_failure("Cannot open", lock_file, last_error());
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return disk_failure("Cannot lock", lock_file, last_error());
    return fail(ErrorCode::conflict, fmt::format("Another export into the folder {} runs: try again.", name),
                "export_running");
  }
  PublishedFolder folder(parent, name, std::move(lock));
  // A crash between the two renamings of exchange().
  if (!fs::exists(folder.current_, failed) && fs::exists(folder.former_, failed)) {
    OCTAVO_TRY_VOID(move_folder(folder.former_, folder.current_));
  }
  OCTAVO_TRY_VOID(remove_left(folder.successor_));
  OCTAVO_TRY_VOID(remove_left(folder.former_));
  fs::create_directory(folder.successor_, failed);
  if (failed) return disk_failure("Cannot make the folder", folder.successor_, failed);
  return folder;
}

Expected<void> PublishedFolder::exchange() const {
  std::error_code failed;
  if (!fs::exists(current_, failed)) return move_folder(successor_, current_);
  if (::renameat2(AT_FDCWD, successor_.c_str(), AT_FDCWD, current_.c_str(), RENAME_EXCHANGE) == 0) return {};
  if (errno != EINVAL && errno != ENOSYS) return disk_failure("Cannot exchange the folder", current_, last_error());
  // Some network file systems cannot exchange names.
  OCTAVO_TRY_VOID(move_folder(current_, former_));
  return move_folder(successor_, current_);
}

Expected<void> PublishedFolder::publish() {
  const Descriptor folder(::open(successor_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // One call for all files: to sync each of them would wait for the disk thousands of times.
  if (!folder || ::syncfs(folder.get()) != 0) return disk_failure("Cannot sync", successor_, last_error());
  OCTAVO_TRY_VOID(exchange());
  std::error_code failed;
  storage::sync_folder(parent_, failed);
  if (failed) return disk_failure("Cannot sync", parent_, failed);
  // What stays is removed when the folder is opened again.
  discard();
  storage::remove_folder(former_, failed);
  return {};
}

void PublishedFolder::discard() const {
  std::error_code ignored;
  storage::remove_folder(successor_, ignored);
}

Expected<void> link_or_copy(const fs::path& file, const fs::path& name) {
  std::error_code failed;
  fs::create_hard_link(file, name, failed);
  if (!failed) return {};
  fs::copy_file(file, name, failed);
  if (failed) return disk_failure("Cannot copy", file, failed);
  return {};
}

}  // namespace octavo::analytics
