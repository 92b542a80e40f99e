#include "storage/lmdb/store_backup.h"

#include <utility>

namespace octavo::storage {

StoreBackup::StoreBackup(Store& store, std::filesystem::path folder, Options options)
    : StoreCopy(store, std::move(options), {.folder = std::move(folder), .purpose = "backup", .is_kept = true}) {}

Expected<void> StoreBackup::run() {
  return run_steps([&]() -> Expected<void> {
    OCTAVO_TRY_VOID(begin());
    OCTAVO_TRY_VOID(copy());
    OCTAVO_TRY_VOID(catch_up());
    OCTAVO_TRY_VOID(finish());
    // Writes need not wait for this.
    return sync_draft();
  });
}

// What writes wait for: the rest of the log.
Expected<void> StoreBackup::finish() {
  const auto turn = take_write_turn();
  OCTAVO_TRY_VOID(check_log());
  OCTAVO_TRY_VOID(apply_log());
  OCTAVO_TRY_VOID(compare_row_counts());
  end_log();
  return {};
}

}  // namespace octavo::storage
