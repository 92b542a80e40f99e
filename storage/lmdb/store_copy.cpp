// Why the copy is exact. Let T be the snapshot that a slice is copied from, and let the position be the last row
// copied.
//   - A row behind the position is skipped when the log is applied. Its commit is visible before it is in the log, so a
//     later slice, whose snapshot is taken afterwards, has the row.
//   - A row up to the position is in the copy as of T. All transactions since the log began are applied in the order of
//     their commits, and each row of the log is a new value, not a difference. So a transaction that T contained is
//     applied again without harm: whatever it takes back for a moment, later ones of the log bring again.
// At the end the write turn is taken, so no commit can happen, and the log is empty: both files have the same rows.
// That the number of rows is the same is checked then.
#include "storage/lmdb/store_copy.h"

#include <algorithm>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <lmdb.h>

#include "base/assert.h"
#include "base/folder.h"
#include "base/jobs/run_guarded.h"
#include "base/memory_retry.h"
#include "base/read_failure.h"
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

}  // namespace

StoreCopy::StoreCopy(Store& store, Options options, Place place)
    : store_(store), options_(std::move(options)), place_(std::move(place)), log_(std::make_unique<RowLog>()) {}

StoreCopy::~StoreCopy() = default;

Expected<void> StoreCopy::run_steps(FunctionRef<Expected<void>()> steps) {
  auto result = run_guarded("copying a store", steps);
  clean_up(result.has_value());
  return result;
}

// One copy of a store at a time: the other one waits.
Expected<void> StoreCopy::take_store() {
  while (true) {
    OCTAVO_TRY_VOID(check_stopped());
    {
      const std::lock_guard lock(store_.gate_mutex_);
      if (!store_.is_being_copied_) {
        store_.is_being_copied_ = true;
        has_store_ = true;
        return {};
      }
    }
    std::this_thread::sleep_for(pause_max);
  }
}

Expected<void> StoreCopy::begin() {
  OCTAVO_TRY_VOID(take_store());
  OCTAVO_TRY_VOID(check_space());
  Store::Options options = store_.options_;
  options.folder = place_.folder;
  options.durability = config::Durability::ephemeral;  // sync_draft() replaces the syncs of the commits
  std::error_code error;
  remove_folder(options.folder, error);
  if (error) return std::unexpected(error_of(error.value(), "removing an old draft", options.folder));
  draft_ = std::make_unique<Store>(std::move(options));
  OCTAVO_TRY_VOID(draft_->create());
  if (place_.is_durable) OCTAVO_TRY_VOID(draft_->sync_names());

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

// The place may be on another disk than the store.
Expected<void> StoreCopy::check_space() {
  OCTAVO_TRY(const auto sizes, store_.sizes());
  std::error_code unknown;
  const auto space = std::filesystem::space(place_.folder.parent_path(), unknown);
  const std::uint64_t needed = sizes.used_bytes + sizes.used_bytes / 10 + spare_bytes;
  if (unknown || space.available >= needed) return {};
  return fail(ErrorCode::disk_full,
              fmt::format("A {} of {} needs {} bytes on the disk, and {} are free.", place_.purpose,
                          store_.options_.folder.string(), needed, space.available));
}

Expected<void> StoreCopy::check_stopped() const {
  if (options_.stopped && options_.stopped()) {
    return fail(ErrorCode::timeout, fmt::format("The {} was stopped.", place_.purpose));
  }
  return check_log();
}

Expected<void> StoreCopy::check_log() const {
  if (!log_->broken()) return {};
  return fail(
      ErrorCode::overloaded,
      fmt::format("The {} was given up: a write failed on the disk, or there were more writes than it could copy.",
                  place_.purpose));
}

std::uint64_t StoreCopy::rows_in(const Transaction& transaction, Tree tree) {
  MDB_stat statistics{};
  const int code = mdb_stat(transaction.handle_, tree.handle, &statistics);
  if (code != 0) throw ReadFailure(error_of(code, "reading", "the store"));
  return statistics.ms_entries;
}

bool StoreCopy::is_busy() const {
  return log_->waiting_bytes() > 0 || (options_.is_busy && options_.is_busy());
}

std::size_t StoreCopy::slice_bytes(bool busy) const {
  std::size_t bytes = options_.slice_bytes;
  if (busy) bytes = std::min(bytes, slice_bytes_busy);
  // A few slices in a second, so that the rests between them are short.
  if (options_.bytes_per_second == 0) return bytes;
  return std::min<std::uint64_t>(bytes, std::max<std::uint64_t>(options_.bytes_per_second / 8, slice_bytes_min));
}

Expected<void> StoreCopy::rest(Clock::time_point until) {
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
Expected<void> StoreCopy::copy() {
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

Expected<StoreCopy::Slice> StoreCopy::copy_slice(std::size_t bytes_max) {
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
  bytes_copied_.fetch_add(slice.bytes, std::memory_order_relaxed);
  rows_copied_.fetch_add(rows, std::memory_order_relaxed);
  return slice;
}

// Only what waits now: with steady writes there would be no end.
Expected<void> StoreCopy::apply_log() {
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

Expected<void> StoreCopy::catch_up() {
  stage_.store(Stage::catching_up, std::memory_order_relaxed);
  for (int i = 0; i < catch_ups_max; ++i) {
    OCTAVO_TRY_VOID(check_stopped());
    OCTAVO_TRY_VOID(apply_log());
    OCTAVO_TRY_VOID(sync_draft());
    if (log_->waiting_bytes() <= rest_bytes_max) break;
  }
  return {};
}

Expected<void> StoreCopy::compare_row_counts() {
  OCTAVO_TRY(const ReadTransaction source, store_.read());
  OCTAVO_TRY(const ReadTransaction draft, draft_->read());
  for (std::size_t i = 0; i < store_.trees_.size(); ++i) {
    const std::uint64_t expected = rows_in(source, store_.tree(i));
    const std::uint64_t copied = rows_in(draft, draft_->tree(i));
    if (copied == expected) continue;
    return fail(ErrorCode::internal,
                fmt::format("The {} of {} was given up: it copied {} rows of '{}' and not {}.", place_.purpose,
                            store_.options_.folder.string(), copied, store_.options_.trees[i], expected));
  }
  return {};
}

Expected<void> StoreCopy::sync_draft() {
  bytes_unsynced_ = 0;
  if (!place_.is_durable) return {};
  return draft_->sync_data();
}

std::unique_lock<std::mutex> StoreCopy::take_write_turn() {
  return store_.take_turn();
}

void StoreCopy::end_log() noexcept {
  store_.row_log_ = nullptr;
}

void StoreCopy::clean_up(bool is_complete) noexcept {
  if (!has_store_) return;
  {
    const auto turn = take_write_turn();
    end_log();
  }
  draft_.reset();
  if (!is_complete || !place_.is_kept) {
    until_memory_suffices([&] {
      // What cannot be removed stays until the next attempt.
      std::error_code ignored;
      remove_folder(place_.folder, ignored);
    });
  }
  const std::lock_guard lock(store_.gate_mutex_);
  store_.is_being_copied_ = false;
}

}  // namespace octavo::storage
