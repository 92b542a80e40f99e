#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "storage/lmdb/fault_injector.h"

namespace octavo::storage {

/// The folder with a catalog and the databases that it knows. It is locked until this is destroyed, so that one process
/// uses it at a time. partitioning/engine.h shows all that is in it.
class DataFolder {
 public:
  /// `faults` is for tests and must outlive this.
  explicit DataFolder(std::filesystem::path path, FaultInjector* faults = nullptr);
  ~DataFolder();
  DataFolder(const DataFolder&) = delete;
  DataFolder& operator=(const DataFolder&) = delete;

  /// Creates the folder if it does not exist, locks it, checks its format and raises an older one to the present one.
  /// Called once. Errors: io_failure, disk_full, precondition_failed (locked by another process; a newer format),
  /// corrupted (the catalog is lost).
  Expected<void> open();
  /// Whether open() has made the folder, or found nothing of a data folder in it.
  bool is_new() const { return is_new_; }

  /// Whether there is a data folder at `path`.
  static bool exists_in(const std::filesystem::path& path);
  /// Whether a process uses the data folder at `path`. True also if that cannot be found out.
  static bool is_locked(const std::filesystem::path& path);

  /// Whether it is a backup that no server has been started with.
  bool is_backup() const;
  /// Durable on return; so is the next one. Errors: disk_full, io_failure.
  Expected<void> mark_as_backup();
  Expected<void> forget_backup();

  std::filesystem::path catalog() const { return path_ / "catalog"; }
  std::filesystem::path database(std::string_view instance_tag) const { return databases() / instance_tag; }
  /// For people: which user this process is, to whom the file or folder belongs that was `denied`, or the nearest one
  /// above it that exists, and what to type.
  static std::string advice_on_permissions(const std::filesystem::path& denied,
                                           const std::filesystem::path& data_folder);
  /// Names of the databases' folders, in no order. After an error: those found so far.
  std::vector<std::string> database_folders(std::error_code& error) const;
  /// On return a power loss does not remove the names of the databases' folders.
  Expected<void> sync_database_folders() const;

 private:
  std::filesystem::path databases() const { return path_ / "databases"; }
  Expected<void> lock();
  Expected<void> raise_format();
  Expected<void> check_catalog() const;

  const std::filesystem::path path_;
  FaultInjector* const faults_;
  int lock_descriptor_ = -1;
  bool is_new_ = false;
};

}  // namespace octavo::storage
