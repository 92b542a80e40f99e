#include "storage/lmdb/store_compaction.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include "base/assert.h"
#include "storage/lmdb/internal/exclusive_gate.h"
#include "storage/lmdb/internal/lmdb_error.h"

namespace octavo::storage {
namespace {

/// How long readers may keep the file from being replaced, first and at last; meanwhile new readers and writes wait.
constexpr std::chrono::milliseconds patience_min{50};
constexpr std::chrono::milliseconds patience_max{800};
constexpr std::chrono::milliseconds switch_pause{250};
constexpr int switches_max = 30;
constexpr const char* rows_file_name = "data.mdb";
constexpr const char* readers_file_name = "lock.mdb";

}  // namespace

StoreCompaction::StoreCompaction(Store& store, Options options)
    : StoreCopy(store, std::move(options),
                {.folder = store.draft_folder(),
                 .purpose = "compaction",
                 .is_durable = store.options().durability != config::Durability::ephemeral}) {}

Expected<void> StoreCompaction::run() {
  const auto result = run_steps([&]() -> Expected<void> {
    OCTAVO_TRY_VOID(begin());
    OCTAVO_TRY_VOID(copy());
    return switch_over();
  });
  if (old_file_ >= 0) ::close(std::exchange(old_file_, -1));
  return result;
}

Expected<void> StoreCompaction::switch_over() {
  auto patience = patience_min;
  for (int i = 0; i < switches_max; ++i) {
    OCTAVO_TRY_VOID(catch_up());
    stage_.store(Stage::switching, std::memory_order_relaxed);
    OCTAVO_TRY(const bool has_switched, try_to_switch(patience));
    if (has_switched) return {};
    patience = std::min(2 * patience, patience_max);
    std::this_thread::sleep_for(switch_pause);
  }
  return fail(ErrorCode::overloaded, "The compaction was given up: long reads kept the file in use.");
}

// False: readers were there for all of `patience`.
Expected<bool> StoreCompaction::try_to_switch(std::chrono::milliseconds patience) {
  const auto turn = store_.take_turn();
  OCTAVO_TRY_VOID(check_log());
  OCTAVO_TRY_VOID(apply_log());
  OCTAVO_TRY_VOID(compare_row_counts());
  OCTAVO_TRY_VOID(sync_draft());
  // Store::sync() may open either file, and must then find what readers have seen of both.
  OCTAVO_TRY_VOID(store_.sync());
  Store::ExclusiveGate gate(store_, patience);
  if (!gate.alone()) return false;
  if (store_.unsettled_.load(std::memory_order_acquire)) {
    return fail(ErrorCode::io_failure, "The compaction was given up: a write has failed on the disk.");
  }
  OCTAVO_TRY_VOID(replace_file());
  return true;
}

// Called in the write turn and under the gate: neither file is used. After an error before the rename the old file is
// opened again, now or at the next use.
//
// The lock file is replaced first. Another program that has the old file open, such as mdb_copy, keeps the old lock
// file as well; its number of the last transaction would be taken for that of the new file.
Expected<void> StoreCompaction::replace_file() {
  const std::filesystem::path folder = store_.options_.folder;
  const std::filesystem::path draft = draft_->options_.folder;
  const std::filesystem::path rows_file = folder / rows_file_name;
  draft_.reset();
  old_file_ = ::open(rows_file.c_str(), O_RDONLY | O_CLOEXEC);  // without it, the rename takes longer
  store_.close_handle();
  const auto replace = [&](const char* file) {
    const int code = store_.fault(StorageCall::rename);
    if (code != 0) return code;
    return std::rename((draft / file).c_str(), (folder / file).c_str()) == 0 ? 0 : errno;
  };
  int code = replace(readers_file_name);
  if (code == 0) code = replace(rows_file_name);
  if (code != 0) {
    static_cast<void>(store_.open_alone(false));
    return std::unexpected(error_of(code, "naming the compacted file", folder));
  }
  const bool is_durable = store_.options_.durability != config::Durability::ephemeral;
  store_.replacement_unsynced_.store(is_durable, std::memory_order_release);
  const auto synced = store_.sync_replacement();
  OCTAVO_TRY_VOID(store_.open_alone(false));
  return synced;
}

}  // namespace octavo::storage
