#include "partitioning/backup/backup_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "base/folder.h"
#include "storage/data_folder.h"

namespace octavo::partitioning {
namespace fs = std::filesystem;

namespace {

constexpr std::string_view draft_suffix = ".part";

std::unexpected<Error> io_error(std::string_view action, const fs::path& path, const std::error_code& error) {
  const ErrorCode code = error == std::errc::no_space_on_device ? ErrorCode::disk_full : ErrorCode::io_failure;
  return fail(code, fmt::format("The backup: cannot {} {}: {}.", action, path.string(), error.message()));
}

}  // namespace

bool BackupFolder::is_name(std::string_view name) {
  const auto is_allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  };
  return !name.empty() && name.size() <= name_bytes_max && name.front() != '.' && !name.ends_with(draft_suffix) &&
         std::ranges::all_of(name, is_allowed);
}

BackupFolder::BackupFolder(fs::path parent, std::string_view name)
    : parent_(std::move(parent)), folder_(parent_ / name), draft_(parent_ / (std::string(name).append(draft_suffix))) {}

Expected<void> BackupFolder::create_draft() const {
  std::error_code error;
  fs::create_directories(parent_, error);
  if (error) return io_error("create the folder", parent_, error);
  const bool is_taken = fs::exists(fs::symlink_status(folder_, error));
  if (is_taken) {
    return fail(ErrorCode::precondition_failed,
                fmt::format("There is a backup {} already: choose another name, or remove {}.",
                            folder_.filename().string(), folder_.string()),
                "file_exists");
  }
  if (fs::exists(draft_, error) && storage::DataFolder::is_locked(draft_)) {
    return fail(ErrorCode::conflict, fmt::format("{} is in use by another process.", draft_.string()), "conflict");
  }
  storage::remove_folder(draft_, error);
  if (error) return io_error("remove", draft_, error);
  fs::create_directory(draft_, error);
  if (error) return io_error("create the folder", draft_, error);
  fs::permissions(draft_, fs::perms::owner_all, error);
  if (error) return io_error("protect", draft_, error);
  return {};
}

Expected<void> BackupFolder::publish() const {
  std::error_code error;
  storage::sync_folder(draft_, error);
  if (error) return io_error("sync", draft_, error);
  fs::rename(draft_, folder_, error);
  if (error) return io_error("name", folder_, error);
  storage::sync_folder(parent_, error);
  if (error) return io_error("sync", parent_, error);
  return {};
}

void BackupFolder::remove_draft() const noexcept {
  std::error_code ignored;
  storage::remove_folder(draft_, ignored);
}

void BackupFolder::remove_left_drafts(const fs::path& parent) {
  std::error_code error;
  for (const std::string& name : storage::folder_entries(parent, error)) {
    const fs::path draft = parent / name;
    if (!name.ends_with(draft_suffix) || !fs::is_directory(fs::symlink_status(draft, error))) continue;
    if (!storage::DataFolder::exists_in(draft)) {
      // It has been begun, or is of another program: only what is empty goes.
      fs::remove(draft / "databases", error);
      fs::remove(draft, error);
      continue;
    }
    if (storage::DataFolder::is_locked(draft)) continue;
    storage::remove_folder(draft, error);
    if (error) spdlog::warn("the incomplete backup {} cannot be removed: {}", name, error.message());
  }
}

}  // namespace octavo::partitioning
