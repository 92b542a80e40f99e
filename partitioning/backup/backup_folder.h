#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/error.h"

namespace octavo::partitioning {

/// The folder of a backup, in the folder of the setting backup.folder. It has the name `NAME.part` until it is complete
/// and on the disk, so that none with its own name is incomplete.
class BackupFolder {
 public:
  static constexpr std::size_t name_bytes_max = 128;
  static constexpr std::string_view name_rule =
      "a name of at most 128 letters, digits and `-_.`, which does not begin with a point or end with `.part`";
  /// Whether `name` follows name_rule.
  static bool is_name(std::string_view name);

  /// Precondition: is_name(name).
  BackupFolder(std::filesystem::path parent, std::string_view name);

  /// Creates the draft, which only this user may read, and the folder above it. Removes what an earlier attempt left.
  /// Errors: precondition_failed (file_exists): there is one of this name; conflict: another server is writing it;
  /// those of the disk.
  Expected<void> create_draft() const;
  const std::filesystem::path& draft() const { return draft_; }
  /// Gives the draft its name, durably. Errors: those of the disk.
  Expected<void> publish() const;
  /// What cannot be removed stays.
  void remove_draft() const noexcept;

  /// Removes the drafts that a server left which ended, from the folder of all backups.
  static void remove_left_drafts(const std::filesystem::path& parent);

 private:
  std::filesystem::path parent_;
  std::filesystem::path folder_;
  std::filesystem::path draft_;
};

}  // namespace octavo::partitioning
