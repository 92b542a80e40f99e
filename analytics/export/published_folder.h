#pragma once

#include <filesystem>
#include <string>

#include "analytics/channel/channel.h"
#include "base/error.h"

namespace octavo::analytics {

/// A folder that others read while it is replaced as a whole. Its successor grows beside it under a hidden name, and
/// takes its place in one step: a reader who opens the folder sees all files of one of the two, and so does one after a
/// crash. One at a time for each name, in all processes.
class PublishedFolder {
 public:
  /// Locks the name in `parent`, which is made when missing, and removes what a crash has left. Errors: conflict with
  /// the word export_running: another process or thread has it; disk_full, io_failure.
  static Expected<PublishedFolder> open(const std::filesystem::path& parent, const std::string& name);

  /// What readers see; may not exist.
  const std::filesystem::path& current() const { return current_; }
  /// Where the successor grows: an empty folder.
  const std::filesystem::path& successor() const { return successor_; }
  /// Makes the successor durable and puts it in the place of the current folder, which is then removed. Afterwards only
  /// current() is of use.
  Expected<void> publish();
  /// Removes the successor.
  void discard() const;

 private:
  PublishedFolder(const std::filesystem::path& parent, const std::string& name, Descriptor lock);
  Expected<void> exchange() const;

  std::filesystem::path parent_;
  std::filesystem::path current_;
  std::filesystem::path successor_;
  std::filesystem::path former_;  ///< where folders cannot be exchanged, the current one is moved here first
  Descriptor lock_;
};

/// Gives a file a second name in another folder; copies it where the file system or the border of one forbids that. The
/// file does not change afterwards. Errors: disk_full, io_failure.
Expected<void> link_or_copy(const std::filesystem::path& file, const std::filesystem::path& name);

}  // namespace octavo::analytics
