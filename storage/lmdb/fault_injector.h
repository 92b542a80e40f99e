#pragma once

#include <cstdint>
#include <filesystem>

namespace octavo::storage {

/// The calls that can fail by injection: all calls of Store to its library and the disk, except reads of single
/// rows.
enum class StorageCall : std::uint8_t {
  create_folder,  ///< the folder of a new store
  open,           ///< files, locks, address space
  begin_read,
  begin_write,
  put,  ///< put and append
  erase,
  commit,  ///< up to and including its syncs
  sync,    ///< of a new folder, of the remains of a failed commit, or of a compacted file and its name
  grow,    ///< making room for a larger file
  rename,  ///< giving a compacted file, and its lock file, the names of the old ones
};

/// Codes of failures for which there is no errno.
namespace fault_code {
extern const int must_grow;         ///< there is no room for the write: it is run again with more
extern const int too_many_readers;  ///< no further transaction can begin
extern const int must_reopen;       ///< all calls fail until the files are opened again
}  // namespace fault_code

/// The only seam for faults in storage: tests implement it; in production the pointer is null.
///
/// Called on any thread. May throw std::bad_alloc, as any call may that is short of memory.
class FaultInjector {
 public:
  virtual ~FaultInjector() = default;
  /// Called before each call on the store in `folder`. 0 lets the call happen; with an errno or a fault_code
  /// the call fails with that code instead of being made.
  virtual int before(StorageCall call, const std::filesystem::path& folder) = 0;
  /// Called after a successful commit. A code makes it look failed: the disk stored the write but reported failure.
  virtual int after_commit(const std::filesystem::path& folder) {
    static_cast<void>(folder);
    return 0;
  }
};

}  // namespace octavo::storage
