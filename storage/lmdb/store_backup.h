#pragma once

#include <filesystem>

#include "base/error.h"
#include "storage/lmdb/store_copy.h"

namespace octavo::storage {

/// Copies a store into another folder (StoreCopy), while it is read and written. The copy has the rows of one moment:
/// all transactions that were committed before run() began, and none in part.
class StoreBackup : public StoreCopy {
 public:
  /// `folder` is new; the folder above it exists. `store` must outlive this.
  StoreBackup(Store& store, std::filesystem::path folder, Options options);

  /// Blocks until the copy and its name are on the disk; called once. After an error there is no copy. Errors: those of
  /// StoreCompaction::run before the rename.
  Expected<void> run();

 private:
  Expected<void> finish();
};

}  // namespace octavo::storage
