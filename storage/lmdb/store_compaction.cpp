// Why the copy is exact. Let T be the snapshot that a slice is copied from, and let the position be the last row
// copied.
//   - A row behind the position is skipped when the log is applied. Its commit is visible before it is in the log, so a
//     later slice, whose snapshot is taken afterwards, has the row.
//   - A row up to the position is in the copy as of T. All transactions since the log began are applied in the order of
//     their commits, and each row of the log is a new value, not a difference. So a transaction that T contained is
//     applied again without harm: whatever it takes back for a moment, later ones of the log bring again.
// While the file is replaced no commit can happen, and the log is empty: both files have the same rows. That the number
// of rows is the same is checked beforehand.
#include "storage/lmdb/store_compaction.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/memory_retry.h"
#include "base/read_failure.h"
#include "storage/lmdb/internal/exclusive_gate.h"
#include "storage/lmdb/internal/lmdb_error.h"
#include "storage/lmdb/internal/row_log.h"
#include "storage/lmdb/pace.h"

namespace octavo::storage {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t log_batch_bytes = 1 << 20;
/// If this little is left, writes may wait for it.
constexpr std::size_t rest_bytes_max = 256 << 10;
/// If writes are faster than this catches up, they have to wait at the end; otherwise it would continue forever.
constexpr int catch_ups_max = 100;
/// The copy is synced in parts, so that no sync takes long: the syncs of writes wait for it.
constexpr std::size_t sync_bytes = 64 << 20;
constexpr std::size_t sync_bytes_busy = 2 << 20;
constexpr std::size_t slice_bytes_busy = 1 << 20;
constexpr std::size_t slice_bytes_min = 64 << 10;
/// If a rest is longer, the log is applied meanwhile when it has this much.
constexpr std::size_t log_bytes_at_rest = 4 << 20;
/// Left on the disk beside the copy, for writes.
constexpr std::uint64_t spare_bytes = 16 << 20;
constexpr std::chrono::milliseconds pause_max{100};
/// How long readers may keep the file from being replaced, first and at last; meanwhile new readers and writes wait.
constexpr std::chrono::milliseconds patience_min{50};
constexpr std::chrono::milliseconds patience_max{800};
constexpr std::chrono::milliseconds switch_pause{250};
constexpr int switches_max = 30;
constexpr const char* rows_file_name = "data.mdb";
constexpr const char* readers_file_name = "lock.mdb";

}  // namespace

StoreCompaction::StoreCompaction(Store& store, Options options)
    : store_(store), options_(std::move(options)), log_(std::make_unique<RowLog>()) {}

StoreCompaction::~StoreCompaction() = default;

Expected<void> StoreCompaction::run() {
  Expected<void> result;
  try {
    result = work();
  } catch (const std::bad_alloc&) {
    result = out_of_memory();
  } catch (const ReadFailure& failure) {
    result = std::unexpected(copy_when_memory_suffices(failure.error()));
  } catch (const std::exception& error) {
    until_memory_suffices([&] { result = fail(ErrorCode::internal, error.what()); });
  }
  clean_up();
  return result;
}

Expected<void> StoreCompaction::work() {
  OCTAVO_TRY_VOID(begin());
  OCTAVO_TRY_VOID(copy());
  return switch_over();
}

Expected<void> StoreCompaction::begin() {
  OCTAVO_TRY_VOID(check_stopped());
  OCTAVO_TRY_VOID(check_space());
  {
    const std::lock_guard lock(store_.gate_mutex_);
    OCTAVO_ASSERT(!store_.is_compacting_);
    store_.is_compacting_ = true;
  }
  Store::Options options = store_.options_;
  options.folder = store_.draft_folder();
  options.durability = config::Durability::ephemeral;  // sync_draft() replaces the syncs of the commits
  std::error_code error;
  remove_folder(options.folder, error);
  if (error) return std::unexpected(error_of(error.value(), "removing an old draft", options.folder));
  draft_ = std::make_unique<Store>(std::move(options));
  OCTAVO_TRY_VOID(draft_->create());
  if (store_.options_.durability != config::Durability::ephemeral) OCTAVO_TRY_VOID(draft_->sync_names());

  const auto turn = store_.take_turn();
  // An earlier replacement first: two of them could not be told apart.
  OCTAVO_TRY_VOID(store_.sync_replacement());
  // No other part of the program may do it until the end: there may be no more writes.
  if (store_.unsettled_.load(std::memory_order_acquire)) OCTAVO_TRY_VOID(store_.settle());
  OCTAVO_TRY_VOID(store_.create_missing_trees());
  store_.row_log_ = log_.get();
  OCTAVO_TRY(const ReadTransaction snapshot, store_.read());
  std::uint64_t rows = 0;
  for (const Tree tree : store_.trees_) rows += rows_in(snapshot, tree);
  rows_expected_.store(rows, std::memory_order_relaxed);
  return {};
}

Expected<void> StoreCompaction::check_space() {
  OCTAVO_TRY(const auto sizes, store_.sizes());
  std::error_code unknown;
  const auto space = std::filesystem::space(store_.options_.folder, unknown);
  const std::uint64_t needed = sizes.used_bytes + sizes.used_bytes / 10 + spare_bytes;
  if (unknown || space.available >= needed) return {};
  return fail(ErrorCode::disk_full, fmt::format("A compaction of {} needs {} bytes on the disk, and {} are free.",
                                                store_.options_.folder.string(), needed, space.available));
}

Expected<void> StoreCompaction::check_stopped() const {
  if (options_.stopped && options_.stopped()) return fail(ErrorCode::timeout, "The compaction was stopped.");
  return check_log();
}

Expected<void> StoreCompaction::check_log() const {
  if (!log_->broken()) return {};
  return fail(ErrorCode::overloaded,
              "The compaction was given up: a write failed on the disk, or there were more writes than it could copy.");
}

std::uint64_t StoreCompaction::rows_in(const Transaction& transaction, Tree tree) {
  MDB_stat statistics{};
  const int code = mdb_stat(transaction.handle_, tree.handle, &statistics);
  if (code != 0) throw ReadFailure(error_of(code, "reading", "the store"));
  return statistics.ms_entries;
}

bool StoreCompaction::is_busy() const {
  return log_->waiting_bytes() > 0 || (options_.is_busy && options_.is_busy());
}

std::size_t StoreCompaction::slice_bytes(bool busy) const {
  std::size_t bytes = options_.slice_bytes;
  if (busy) bytes = std::min(bytes, slice_bytes_busy);
  // A few slices in a second, so that the rests between them are short.
  if (options_.bytes_per_second == 0) return bytes;
  return std::min<std::uint64_t>(bytes, std::max<std::uint64_t>(options_.bytes_per_second / 8, slice_bytes_min));
}

Expected<void> StoreCompaction::rest(Clock::time_point until) {
  while (true) {
    const auto now = Clock::now();
    if (now >= until) return {};
    std::this_thread::sleep_for(std::min<Clock::duration>(until - now, pause_max));
    if (Clock::now() >= until) return {};
    OCTAVO_TRY_VOID(check_stopped());
    if (log_->waiting_bytes() > log_bytes_at_rest) OCTAVO_TRY_VOID(apply_log());
  }
}

// Where there are writes, they need the disk and the processor as well: then this rests for as long as it works.
Expected<void> StoreCompaction::copy() {
  Pace pace(options_.bytes_per_second);
  for (tree_ = 0; tree_ < store_.trees_.size();) {
    OCTAVO_TRY_VOID(check_stopped());
    const bool busy = is_busy();
    const auto begun = Clock::now();
    OCTAVO_TRY_VOID(apply_log());
    OCTAVO_TRY(const Slice slice, copy_slice(slice_bytes(busy)));
    if (bytes_unsynced_ >= (busy ? sync_bytes_busy : sync_bytes)) OCTAVO_TRY_VOID(sync_draft());
    if (!slice.has_more) {
      ++tree_;
      last_key_.clear();
    }
    OCTAVO_TRY_VOID(rest(pace.after_step(begun, slice.bytes, busy)));
  }
  return {};
}

Expected<StoreCompaction::Slice> StoreCompaction::copy_slice(std::size_t bytes_max) {
  OCTAVO_TRY(const ReadTransaction snapshot, store_.read());
  std::string_view last;  // lives as long as the snapshot
  std::uint64_t rows = 0;
  Slice slice;
  // Runs again if the draft's map has to grow.
  const auto append_rows = [&](WriteTransaction& transaction) -> Expected<void> {
    rows = 0;
    slice = {};
    Cursor cursor(snapshot, store_.tree(tree_));
    auto row = cursor.seek(last_key_);
    if (row && row->key == last_key_) row = cursor.next();
    for (; row; row = cursor.next()) {
      if (slice.bytes >= bytes_max) {
        slice.has_more = true;
        return {};
      }
      OCTAVO_TRY_VOID(transaction.append(draft_->tree(tree_), row->key, row->value));
      last = row->key;
      slice.bytes += row->key.size() + row->value.size();
      ++rows;
    }
    return {};
  };
  OCTAVO_TRY_VOID(draft_->write(bytes_max, append_rows));
  if (rows > 0) last_key_ = last;
  bytes_unsynced_ += slice.bytes;
  rows_copied_.fetch_add(rows, std::memory_order_relaxed);
  return slice;
}

// Only what waits now: with steady writes there would be no end.
Expected<void> StoreCompaction::apply_log() {
  std::size_t waiting = log_->waiting_bytes();
  while (waiting > 0) {
    const std::string rows = log_->take(log_batch_bytes);
    if (rows.empty()) break;
    waiting -= std::min(waiting, rows.size());
    const auto apply_rows = [&](WriteTransaction& transaction) -> Expected<void> {
      return RowLog::for_each(rows, [&](const RowLog::Row& row) -> Expected<void> {
        const bool is_copied = row.tree < tree_ || (row.tree == tree_ && row.key <= last_key_);
        if (!is_copied) return {};
        const Tree tree = draft_->tree(row.tree);
        if (row.value) return transaction.put(tree, row.key, *row.value);
        OCTAVO_TRY_VOID(transaction.erase(tree, row.key));
        return {};
      });
    };
    OCTAVO_TRY_VOID(draft_->write(rows.size(), apply_rows));
    bytes_unsynced_ += rows.size();
  }
  return {};
}

Expected<void> StoreCompaction::catch_up() {
  stage_.store(Stage::catching_up, std::memory_order_relaxed);
  for (int i = 0; i < catch_ups_max; ++i) {
    OCTAVO_TRY_VOID(check_stopped());
    OCTAVO_TRY_VOID(apply_log());
    OCTAVO_TRY_VOID(sync_draft());
    if (log_->waiting_bytes() <= rest_bytes_max) break;
  }
  return {};
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
  OCTAVO_ASSERT(log_->waiting_bytes() == 0);
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

Expected<void> StoreCompaction::compare_row_counts() {
  OCTAVO_TRY(const ReadTransaction source, store_.read());
  OCTAVO_TRY(const ReadTransaction draft, draft_->read());
  for (std::size_t i = 0; i < store_.trees_.size(); ++i) {
    const std::uint64_t expected = rows_in(source, store_.tree(i));
    const std::uint64_t copied = rows_in(draft, draft_->tree(i));
    if (copied == expected) continue;
    return fail(ErrorCode::internal,
                fmt::format("The compaction of {} was given up: it copied {} rows of '{}' and not {}.",
                            store_.options_.folder.string(), copied, store_.options_.trees[i], expected));
  }
  return {};
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

Expected<void> StoreCompaction::sync_draft() {
  bytes_unsynced_ = 0;
  if (store_.options_.durability == config::Durability::ephemeral) return {};
  return draft_->sync_data();
}

void StoreCompaction::clean_up() noexcept {
  {
    const auto turn = store_.take_turn();
    store_.row_log_ = nullptr;
  }
  if (old_file_ >= 0) ::close(std::exchange(old_file_, -1));
  draft_.reset();
  until_memory_suffices([&] {
    // If the draft cannot be removed, the next opening tries again.
    std::error_code ignored;
    remove_folder(store_.draft_folder(), ignored);
  });
  const std::lock_guard lock(store_.gate_mutex_);
  store_.is_compacting_ = false;
}

}  // namespace octavo::storage
