#pragma once

#include <chrono>

#include "base/error.h"
#include "storage/lmdb/store_copy.h"

namespace octavo::storage {

/// Replaces the file of a store by a dense copy of it (StoreCopy), while the store is read and written. The rows stay
/// the same; what deletions, and updates that made rows smaller, have left empty goes back to the file system.
///
/// The copy is made in the folder `new` inside the store's folder. At the end writes wait for a moment, until the copy
/// has all rows and is on the disk; then a rename gives it the name of the old file. A crash at any time leaves one of
/// the two files under that name, with all rows. A draft that was not renamed is removed when the store is next opened.
class StoreCompaction : public StoreCopy {
 public:
  /// `store` must outlive this.
  StoreCompaction(Store& store, Options options);

  /// Blocks until the end; called once. Errors: timeout: stopped. disk_full: there is no space for the copy.
  /// overloaded: writes were faster than the copy, a write failed on the disk, long reads did not end, or memory is
  /// short. io_failure: the disk failed; if it failed after the rename, the new file is in use, and writes fail until
  /// its name is on the disk. Others: those of reading the store.
  Expected<void> run();

 private:
  Expected<void> switch_over();
  Expected<bool> try_to_switch(std::chrono::milliseconds patience);
  Expected<void> replace_file();

  int old_file_ = -1;  ///< keeps the pages of the replaced file until writes resume: freeing them takes a while
};

}  // namespace octavo::storage
