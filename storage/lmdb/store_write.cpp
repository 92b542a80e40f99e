// Writing, and recovery after the disk fails a commit.
//
// LMDB commits in this order: pages (pwrite), fdatasync, meta page (one pwrite through an O_DSYNC descriptor).
//   - If the pages or the fdatasync fail, the old meta page stays in force: the write is not stored and never will be.
//     The next transaction writes its own pages again, so it does not rely on pages that a failed sync has dropped.
//   - If the meta page fails, it is unknown whether the disk has the new one. LMDB restores the old transaction number
//     (in the page cache only) and rejects all calls with MDB_PANIC until the store is reopened.
// In the second case a crash could still bring the new meta page back, after its pages were reused; and if the page
// cache kept it, readers would see a write that is not durable. With MDB_NOMETASYNC the failed fdatasync of the next
// transaction may drop the last meta page in the same way. Moreover Linux reports a writeback error once to each
// descriptor: the meta page's descriptor would report the old error at the next commit.
//
// Therefore a failed commit makes the store *unsettled*, and it is settled before the next write: it is reopened,
// with new descriptors; the page cache is synced (a restored meta page is dirty, so it is written); and an empty
// transaction is committed and synced, which puts a meta page on the disk that names the state that all readers see
// from then on. Only if all of that succeeds, writes continue. Readers need not wait for it as long as the newest
// transaction in the file is the last acknowledged one; otherwise they must.
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <lmdb.h>
#include <spdlog/spdlog.h>

#include "base/assert.h"
#include "base/folder.h"
#include "storage/lmdb/internal/address_space.h"
#include "storage/lmdb/internal/exclusive_gate.h"
#include "storage/lmdb/internal/lmdb_error.h"
#include "storage/lmdb/internal/row_log.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {
namespace {

/// After readers did not leave in time, growing does not make new readers wait again for this long.
constexpr std::uint64_t growth_pause_ms = 8000;
constexpr int attempts_max = 40;  // each doubles the map or adds an eighth: enough for terabytes
constexpr std::string_view marker_key = "settled";

/// The disk or the file system reported it, not LMDB (whose codes are negative) nor the allocator.
bool is_disk_failure(int code) {
  return code > 0 && code != ENOMEM && code != EINVAL;
}

std::uint64_t last_transaction_of(MDB_env* env) {
  MDB_envinfo info;
  mdb_env_info(env, &info);
  return info.me_last_txnid;
}

/// LMDB reports a short write as EIO. To find out whether space is lacking, this writes one more page and returns the
/// resulting code, or 0.
int lack_of_space(const std::filesystem::path& folder) {
  const int descriptor = ::open((folder / "data.mdb").c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  constexpr std::array<char, 4096> zero_page{};
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  const ssize_t written = end < 0 ? 0 : ::pwrite(descriptor, zero_page.data(), zero_page.size(), end);
  int code = 0;
  if (written < 0) {
    code = is_disk_full(errno) ? errno : 0;
  } else if (end >= 0 && written < static_cast<ssize_t>(zero_page.size())) {
    code = ENOSPC;
  }
  // Restores the file's length: LMDB has nothing there.
  if (written > 0 && ::ftruncate(descriptor, end) != 0) spdlog::warn("{}: cannot be cut back", folder.string());
  ::close(descriptor);
  return code;
}

Error commit_error(int code, const std::filesystem::path& folder) {
  Error error = error_of(code, "committing", folder);
  if (error.code != ErrorCode::io_failure) return error;
  error.reason = fmt::format("The disk failed ({}): the write may be stored or not. Read it before trying again.",
                             mdb_strerror(code));
  return error;
}

}  // namespace

// Ends `transaction` in every case.
int Store::commit(MDB_txn* transaction) {
  OCTAVO_ASSERT(transaction != nullptr);
  MDB_env* env = mdb_txn_env(transaction);
  int code = 0;
  try {
    code = fault(StorageCall::commit);
  } catch (...) {
    mdb_txn_abort(transaction);
    throw;
  }
  if (code != 0) {
    mdb_txn_abort(transaction);
  } else {
    code = mdb_txn_commit(transaction);
    if (code == EIO) {
      if (const int lacking = lack_of_space(options_.folder); lacking != 0) code = lacking;
    }
    if (code == 0 && options_.faults != nullptr) code = options_.faults->after_commit(options_.folder);
  }
  if (code == 0) {
    acknowledged_.store(last_transaction_of(env), std::memory_order_release);
  } else if (is_disk_failure(code) && !(is_disk_full(code) && options_.durability == config::Durability::commit)) {
    // A full disk that rejected the pages needs no settling; one that rejected the meta page causes MDB_PANIC.
    unsettled_.store(true, std::memory_order_release);
  }
  return code;
}

// Called under the gate. For writing, the store must be settled; for reading, only if it shows more than was
// acknowledged.
Expected<void> Store::open_alone(bool for_writing) {
  OCTAVO_ASSERT(gate_closed_.load(std::memory_order_seq_cst));
  OCTAVO_ASSERT(!is_open());
  if (!is_being_copied_) {
    // What a compaction left that a crash ended. If it cannot be removed, the next compaction tries again.
    std::error_code ignored;
    remove_folder(draft_folder(), ignored);
  }
  OCTAVO_TRY(Handle env, open_handle());
  if (!unsettled_.load(std::memory_order_acquire)) {
    acknowledged_.store(last_transaction_of(env.get()), std::memory_order_release);
  }
  OCTAVO_TRY_VOID(open_trees(env.get()));
  Expected<void> settled;
  if (unsettled_.load(std::memory_order_acquire)) {
    const bool as_acknowledged = last_transaction_of(env.get()) == acknowledged_.load(std::memory_order_acquire);
    if (for_writing || !as_acknowledged) {
      settled = make_durable(env.get());
      if (settled) unsettled_.store(false, std::memory_order_release);
      if (!settled && !as_acknowledged) return settled;
    }
  }
  touch();
  map_bytes_ = env.get_deleter().map_bytes;
  open_.store(env.release(), std::memory_order_seq_cst);
  return settled;
}

Expected<void> Store::make_durable(MDB_env* env) {
  if (options_.durability == config::Durability::ephemeral) return {};
  const auto sync = [&] {
    const int code = fault(StorageCall::sync);
    return code != 0 ? code : mdb_env_sync(env, 1);
  };
  const auto commit_marker = [&] {
    MDB_txn* transaction = nullptr;
    int code = fault(StorageCall::begin_write);
    if (code == 0) code = mdb_txn_begin(env, nullptr, 0, &transaction);
    if (code != 0) return code;
    // Put and erased again: what matters is that pages are written, and a meta page after them.
    MDB_val key{marker_key.size(), const_cast<char*>(marker_key.data())};
    MDB_val value{0, nullptr};
    code = mdb_put(transaction, trees_.front().handle, &key, &value, 0);
    if (code == 0) code = mdb_del(transaction, trees_.front().handle, &key, nullptr);
    if (code == 0) return commit(transaction);
    mdb_txn_abort(transaction);
    return code;
  };
  int code = sync();
  if (code == 0) code = commit_marker();
  if (code == 0 && options_.durability == config::Durability::relaxed) code = sync();
  if (code == 0) return {};
  return std::unexpected(commit_error(code, options_.folder));
}

// Uses its own descriptor: Linux reports a writeback error once to each descriptor, and the writer's descriptor must
// report it too, or the writer would take lost pages for written.
Expected<void> Store::sync_data() const {
  int code = fault(StorageCall::sync);
  if (code == 0) {
    const int descriptor = ::open((options_.folder / "data.mdb").c_str(), O_RDONLY | O_CLOEXEC);
    if (descriptor < 0 || ::fdatasync(descriptor) != 0) code = errno;
    if (descriptor >= 0) ::close(descriptor);
  }
  if (code != 0) return std::unexpected(error_of(code, "syncing", options_.folder));
  return {};
}

Expected<void> Store::sync() {
  if (options_.durability == config::Durability::ephemeral) return {};
  OCTAVO_TRY_VOID(sync_data());
  return sync_replacement();
}

// LMDB writes new pages past the end of the file, so they use this space; the file's size does not change.
Expected<void> Store::reserve_space(std::uint64_t bytes) {
  OCTAVO_TRY_VOID(open());
  const Stay stay(*this);
  if (!stay.inside()) return gate_stays_closed();
  MDB_env* env = open_.load(std::memory_order_seq_cst);
  int descriptor = -1;
  if (env == nullptr || mdb_env_get_fd(env, &descriptor) != 0) return {};
  MDB_envinfo info;
  mdb_env_info(env, &info);
  MDB_stat statistics;
  mdb_env_stat(env, &statistics);
  const std::uint64_t begin = (info.me_last_pgno + 1) * statistics.ms_psize;
  const int result = ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin), static_cast<off_t>(bytes));
  const int code = result == 0 ? 0 : errno;
  if (is_disk_full(code)) return std::unexpected(error_of(code, "reserving space", options_.folder));
  return {};
}

// For a reader that found that LMDB rejects all calls since a commit failed.
Expected<void> Store::reopen(const MDB_env* failed) {
  ExclusiveGate gate(*this, gate_patience);
  if (open_.load(std::memory_order_acquire) != failed) return {};  // another reader did it
  if (!gate.alone()) return fail(ErrorCode::io_failure, "The last write to the disk failed; try again.");
  unsettled_.store(true, std::memory_order_release);
  close_handle();
  return open_alone(false);
}

Expected<void> Store::settle() {
  ExclusiveGate gate(*this, gate_patience);
  if (!gate.alone()) return fail(ErrorCode::io_failure, "The last write to the disk failed; try again.");
  if (!unsettled_.load(std::memory_order_acquire)) return {};  // a reader that needed it has settled it
  close_handle();
  return open_alone(true);
}

Expected<void> Store::grow(std::uint64_t map_bytes_min) {
  const bool patiently = steady_now_ms() >= grow_patiently_from_ms_.load(std::memory_order_relaxed);
  ExclusiveGate gate(*this, patiently ? gate_patience : std::chrono::milliseconds{0});
  if (!gate.alone()) {
    if (patiently) grow_patiently_from_ms_.store(steady_now_ms() + growth_pause_ms, std::memory_order_relaxed);
    return fail(ErrorCode::overloaded, "The map of the file must grow, and long reads prevent it; try again later.");
  }
  MDB_env* env = open_.load(std::memory_order_acquire);
  if (env == nullptr) return {};
  MDB_envinfo info;
  mdb_env_info(env, &info);
  std::uint64_t map_bytes = info.me_mapsize;
  if (map_bytes >= map_bytes_min) return {};
  // Doubles while small; later adds an eighth, as address space is limited.
  while (map_bytes < map_bytes_min) map_bytes += map_bytes < (8ULL << 30) ? map_bytes : map_bytes / 8;
  map_bytes = (map_bytes + 0xFFFF) & ~std::uint64_t{0xFFFF};
  int code = fault(StorageCall::grow);
  if (code == 0) {
    take_address_space(map_bytes - map_bytes_);
    map_bytes_ = map_bytes;  // also when it fails, until the handle is closed
    code = mdb_env_set_mapsize(env, map_bytes);
  }
  if (code == 0) return {};
  // LMDB has unmapped the file by now: the handle is useless, and the next reader opens a smaller map.
  close_handle();
  return std::unexpected(error_of(code, "growing the map", options_.folder));
}

struct Store::Attempt {
  Expected<void> result;
  bool again = false;
  std::uint64_t grow_to = 0;  ///< a larger map is needed first
};

Store::Attempt Store::try_to_write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body) {
  // A writer prevents its store from being closed in the same way as readers do.
  const Stay stay(*this);
  if (!stay.inside()) return {.result = gate_stays_closed()};
  MDB_env* env = open_.load(std::memory_order_seq_cst);
  if (env == nullptr) return {.result = {}, .again = true};
  touch();
  MDB_envinfo info;
  mdb_env_info(env, &info);
  MDB_stat statistics;
  mdb_env_stat(env, &statistics);
  const std::uint64_t used = (info.me_last_pgno + 1) * statistics.ms_psize;
  const std::uint64_t wanted = used + used / 16 + 4 * expected_bytes + (1ULL << 20);
  if (wanted > info.me_mapsize) return {.result = {}, .again = true, .grow_to = wanted};

  MDB_txn* handle = nullptr;
  int code = fault(StorageCall::begin_write);
  if (code == 0) code = mdb_txn_begin(env, nullptr, 0, &handle);
  if (code == MDB_MAP_RESIZED) return {.result = {}, .again = true, .grow_to = info.me_mapsize + 1};
  if (code == MDB_PANIC) {
    unsettled_.store(true, std::memory_order_release);
    return {.result = {}, .again = true};
  }
  if (code != 0) return {.result = std::unexpected(error_of(code, "beginning to write", options_.folder))};

  if (row_log_ != nullptr) row_log_->cut(0);  // rows of an attempt that was not committed
  WriteTransaction transaction(*this, handle);
  Attempt attempt{.result = body(transaction)};
  if (!attempt.result) {
    attempt.again = transaction.map_full_;
    if (attempt.again) attempt.grow_to = info.me_mapsize + 1;
    return attempt;
  }
  code = commit_logged(std::exchange(transaction.handle_, nullptr));
  if (code == MDB_MAP_FULL) return {.result = {}, .again = true, .grow_to = info.me_mapsize + 1};
  if (code != 0) attempt.result = std::unexpected(commit_error(code, options_.folder));
  return attempt;
}

// Commits, and tells a copy whether the rows are stored. Where that is unknown it gives up.
int Store::commit_logged(MDB_txn* transaction) {
  if (row_log_ == nullptr) return commit(transaction);
  int code = 0;
  try {
    code = commit(transaction);
  } catch (...) {
    row_log_->break_off();
    throw;
  }
  if (code == 0) {
    row_log_->seal();
  } else if (code != MDB_MAP_FULL) {
    row_log_->break_off();
  }
  return code;
}

Expected<void> Store::write(std::size_t expected_bytes, FunctionRef<Expected<void>(WriteTransaction&)> body) {
  const auto turn = take_turn();
  OCTAVO_TRY_VOID(sync_replacement());
  for (int i = 0; i < attempts_max; ++i) {
    if (unsettled_.load(std::memory_order_acquire)) OCTAVO_TRY_VOID(settle());
    OCTAVO_TRY_VOID(open());
    OCTAVO_TRY_VOID(create_missing_trees());
    Attempt attempt = try_to_write(expected_bytes, body);
    if (!attempt.again) return std::move(attempt.result);
    if (attempt.grow_to != 0) OCTAVO_TRY_VOID(grow(attempt.grow_to));
  }
  return fail(ErrorCode::disk_full, "The memory map cannot grow any further.");
}

}  // namespace octavo::storage
