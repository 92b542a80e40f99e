#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

class RowLog;

/// What a compaction and a backup of a store share: a dense copy of it in another folder, made while the store is read
/// and written.
///
/// The copy is a store that gets the rows tree by tree, in the order of their keys, which fills its pages. The rows
/// that transactions change meanwhile are logged (RowLog) and applied to it. At the end writes wait for a moment, until
/// the copy has all rows.
///
/// One copy of a store at a time; the next one waits for it. If the disk is full, or anything else fails, the store
/// stays as it was, and the copy is removed.
class StoreCopy {
 public:
  enum class Stage : std::uint8_t { copying, catching_up, switching };

  struct Options {
    /// Asked between two steps, without any lock: whether to give up. May be empty.
    std::function<bool()> stopped = {};
    /// Whether clients write at the moment, also to other stores of the disk: then it works in small steps, and rests
    /// for as long as it works. May be empty: then only writes to this store count.
    std::function<bool()> is_busy = {};
    /// How much to copy in a second; 0: as fast as possible.
    std::uint64_t bytes_per_second = 0;
    /// How much one transaction of the copy contains at most.
    std::size_t slice_bytes = 4ULL << 20;
  };

  StoreCopy(const StoreCopy&) = delete;
  StoreCopy& operator=(const StoreCopy&) = delete;

  // Any thread, at any time

  Stage stage() const { return stage_.load(std::memory_order_relaxed); }
  std::uint64_t rows_copied() const { return rows_copied_.load(std::memory_order_relaxed); }
  std::uint64_t rows_expected() const { return rows_expected_.load(std::memory_order_relaxed); }
  std::uint64_t bytes_copied() const { return bytes_copied_.load(std::memory_order_relaxed); }

 protected:
  struct Place {
    std::filesystem::path folder;  ///< of the copy; what is in it is removed
    std::string_view purpose;      ///< for messages
    bool is_durable = true;        ///< the copy is synced
    bool is_kept = false;          ///< the folder stays when all went well
  };

  /// `store` must outlive this.
  StoreCopy(Store& store, Options options, Place place);
  ~StoreCopy();

  /// Runs `steps`, turns what they throw into errors, and removes what must not stay.
  Expected<void> run_steps(FunctionRef<Expected<void>()> steps);

  // Steps, in this order

  Expected<void> begin();
  Expected<void> copy();
  /// Until little is left of the log.
  Expected<void> catch_up();
  // In the write turn: the copy gets the rest, and is compared.
  Expected<void> apply_log();
  Expected<void> compare_row_counts();
  void end_log() noexcept;

  std::unique_lock<std::mutex> take_write_turn();
  Expected<void> check_log() const;
  Expected<void> sync_draft();

  Store& store_;
  std::unique_ptr<Store> draft_;
  std::atomic<Stage> stage_{Stage::copying};

 private:
  struct Slice {
    std::size_t bytes = 0;  ///< copied
    bool has_more = false;  ///< false: the tree is complete
  };
  Expected<void> take_store();
  Expected<void> check_space();
  Expected<void> check_stopped() const;
  Expected<Slice> copy_slice(std::size_t bytes_max);
  bool is_busy() const;
  std::size_t slice_bytes(bool busy) const;
  Expected<void> rest(std::chrono::steady_clock::time_point until);
  void clean_up(bool is_complete) noexcept;
  static std::uint64_t rows_in(const Transaction& transaction, Tree tree);

  const Options options_;
  const Place place_;
  const std::unique_ptr<RowLog> log_;
  bool has_store_ = false;  ///< no other copy of the store runs
  /// The copy has the rows of all trees before `tree_`, and of this one those up to `last_key_`.
  std::size_t tree_ = 0;
  std::string last_key_;
  std::size_t bytes_unsynced_ = 0;
  std::atomic<std::uint64_t> rows_copied_{0};
  std::atomic<std::uint64_t> rows_expected_{0};
  std::atomic<std::uint64_t> bytes_copied_{0};
};

}  // namespace octavo::storage
