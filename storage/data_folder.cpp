#include "storage/data_folder.h"

#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "base/folder.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {
namespace {

/// Format 2 keeps deleted documents in a tree of their own. A program that knows 1 would not find them.
constexpr int folder_format = 2;
constexpr std::string_view folder_format_file = "octavo.format";
constexpr std::string_view folder_lock_file = "octavo.lock";
constexpr std::string_view backup_mark_file = "octavo.backup";

std::unexpected<Error> io_error(std::string_view action, const std::filesystem::path& path,
                                const std::error_code& error) {
  const ErrorCode code = error == std::errc::no_space_on_device ? ErrorCode::disk_full : ErrorCode::io_failure;
  return fail(code, fmt::format("{} {}: {}", action, path.string(), error.message()));
}

std::error_code last_error() {
  return {errno, std::generic_category()};
}

/// The result of io_error. If permissions are the reason, it also says who denies what to whom, and what to type: a new
/// volume of a container often belongs to root.
std::unexpected<Error> access_error(std::string_view action, const std::filesystem::path& path,
                                    const std::filesystem::path& data_folder, const std::error_code& error) {
  auto failure = io_error(action, path, error);
  if (error == std::errc::permission_denied) {
    failure.error().reason += ". " + DataFolder::advice_on_permissions(path, data_folder);
  }
  return failure;
}

Expected<void> sync_folder_names(const std::filesystem::path& folder, FaultInjector* faults) {
  std::error_code error;
  const int fault = faults == nullptr ? 0 : faults->before(StorageCall::sync, folder);
  if (fault != 0) {
    error.assign(fault, std::generic_category());
  } else {
    sync_folder(folder, error);
  }
  if (error) return io_error("cannot sync", folder, error);
  return {};
}

/// Creates the missing folders of a path so that they survive a power loss: their names are in the folders above.
Expected<void> create_folders_durably(const std::filesystem::path& folder, const std::filesystem::path& data_folder,
                                      FaultInjector* faults) {
  std::vector<std::filesystem::path> changed;
  std::error_code error;
  for (std::filesystem::path path = std::filesystem::absolute(folder); !std::filesystem::exists(path, error);
       path = path.parent_path()) {
    if (path == path.root_path()) break;
    changed.push_back(path.parent_path());
  }
  std::filesystem::create_directories(folder, error);
  if (error) return access_error("cannot create the folder", folder, data_folder, error);
  for (const std::filesystem::path& parent : changed) OCTAVO_TRY_VOID(sync_folder_names(parent, faults));
  return {};
}

}  // namespace

DataFolder::DataFolder(std::filesystem::path path, FaultInjector* faults) : path_(std::move(path)), faults_(faults) {}

DataFolder::~DataFolder() {
  if (lock_descriptor_ >= 0) ::close(lock_descriptor_);
}

Expected<void> DataFolder::open() {
  OCTAVO_TRY_VOID(create_folders_durably(databases(), path_, faults_));
  OCTAVO_TRY_VOID(lock());
  OCTAVO_TRY_VOID(raise_format());
  return check_catalog();
}

std::string DataFolder::advice_on_permissions(const std::filesystem::path& denied,
                                              const std::filesystem::path& data_folder) {
  // The first that exists and may be looked at: the others do not exist yet, or are behind it.
  std::error_code ignored;
  std::filesystem::path owned = std::filesystem::absolute(denied, ignored);
  struct stat status{};
  while (::stat(owned.c_str(), &status) != 0 && owned.has_relative_path()) owned = owned.parent_path();
  const std::string who = fmt::format("{}:{}", ::geteuid(), ::getegid());
  const std::string what =
      std::filesystem::exists(data_folder, ignored)
          ? fmt::format("chown -R {} {}", who, data_folder.string())
          : fmt::format("install -d -o {} -g {} -m 0770 {}", ::geteuid(), ::getegid(), data_folder.string());
  return fmt::format(
      "This process has uid {} and gid {}; {} belongs to {}:{} and has mode {:04o}. Type as root: {} (or start the "
      "server as the owner of the folder: docker run --user, fsGroup in Kubernetes)",
      ::geteuid(), ::getegid(), owned.string(), status.st_uid, status.st_gid, status.st_mode & 07777U, what);
}

Expected<void> DataFolder::lock() {
  const std::filesystem::path path = path_ / folder_lock_file;
  lock_descriptor_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_descriptor_ < 0) return access_error("cannot open", path, path_, last_error());
  if (::flock(lock_descriptor_, LOCK_EX | LOCK_NB) != 0) {
    return fail(ErrorCode::precondition_failed,
                fmt::format("the data folder {} is in use by another octavo process; stop it, or give this one another "
                            "folder with --data-dir",
                            path_.string()));
  }
  return {};
}

// A new folder gets the present format, and so does one of an older format, before any row can be written: from then on
// an older program refuses it. Rows of the older format stay readable.
Expected<void> DataFolder::raise_format() {
  const std::filesystem::path path = path_ / folder_format_file;
  std::ifstream file(path);
  int format = 0;
  file >> format;
  is_new_ = !file.is_open();
  if (file.is_open() && (format < 1 || format > folder_format)) {
    return fail(ErrorCode::precondition_failed,
                fmt::format("the data folder {} has format {}, and this octavo knows formats up to {}: use the newer "
                            "version that wrote it",
                            path_.string(), format, folder_format));
  }
  if (format != folder_format) {
    std::error_code error;
    replace_file(path, fmt::format("{}\n", folder_format), error);
    if (error) return io_error("cannot write", path, error);
  }
  // A power loss could otherwise bring the old number back under new rows. The process that wrote the number may have
  // ended before it got here.
  return sync_folder_names(path_, faults_);
}

// A new catalog would know no databases, and folders unknown to the catalog are removed.
Expected<void> DataFolder::check_catalog() const {
  if (Store::file_bytes_in(catalog()).value_or(0) != 0) return {};
  std::error_code error;
  const auto found = database_folders(error);
  if (error) return io_error("cannot list", databases(), error);
  if (found.empty()) return {};
  return fail(ErrorCode::corrupted,
              fmt::format("the data folder {} has lost its catalog (catalog/data.mdb), without which its databases "
                          "have no names: restore it from a copy",
                          path_.string()));
}

bool DataFolder::exists_in(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path / folder_lock_file, unknown);
}

bool DataFolder::is_locked(const std::filesystem::path& path) {
  const int descriptor = ::open((path / folder_lock_file).c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return errno != ENOENT;
  const bool is_free = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0;
  ::close(descriptor);
  return !is_free;
}

bool DataFolder::is_backup() const {
  std::error_code unknown;
  return std::filesystem::exists(path_ / backup_mark_file, unknown);
}

Expected<void> DataFolder::mark_as_backup() {
  std::error_code error;
  replace_file(path_ / backup_mark_file, "a backup: the first start gives its change feeds new positions\n", error);
  if (error) return io_error("cannot write", path_ / backup_mark_file, error);
  return sync_folder_names(path_, faults_);
}

Expected<void> DataFolder::forget_backup() {
  std::error_code error;
  std::filesystem::remove(path_ / backup_mark_file, error);
  if (error) return io_error("cannot remove", path_ / backup_mark_file, error);
  return sync_folder_names(path_, faults_);
}

std::vector<std::string> DataFolder::database_folders(std::error_code& error) const {
  return folder_entries(databases(), error);
}

Expected<void> DataFolder::sync_database_folders() const {
  return sync_folder_names(databases(), faults_);
}

}  // namespace octavo::storage
