#pragma once

#include <cstdint>
#include <filesystem>

namespace octavo::storage {

/// The calls that can meet a fault: everything that Environment asks of LMDB and the disk, reads of single rows aside.
enum class StorageCall : std::uint8_t {
  create_folder,  ///< a new environment: its folder
  open,           ///< files, locks, map
  begin_read,
  begin_write,
  put,     ///< put and append
  erase,   ///< erase and clear
  commit,  ///< up to and including its syncs
  sync,    ///< of a new folder, or of what a failed commit left behind
  grow,    ///< of the map
};

/// The one seam for faults in storage: tests implement it, production has none (a null pointer).
///
/// Called on any thread. May throw std::bad_alloc, as any call may that is short of memory.
class FaultInjector {
 public:
  virtual ~FaultInjector() = default;
  /// Asked before each call on the environment in `folder`. 0 lets it be made; an errno or MDB_ code is what the call
  /// fails with instead of being made.
  virtual int before(StorageCall call, const std::filesystem::path& folder) = 0;
  /// Asked after a commit that took place. A code makes it look failed: the disk took the write and did not say so.
  virtual int after_commit(const std::filesystem::path& folder) {
    static_cast<void>(folder);
    return 0;
  }
};

}  // namespace octavo::storage
