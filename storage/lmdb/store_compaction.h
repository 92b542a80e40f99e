#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "storage/lmdb/store.h"

namespace octavo::storage {

class RowLog;

/// Replaces the file of a store by a dense copy of it, while the store is read and written. The rows stay the same;
/// what deletions, and updates that made rows smaller, have left empty goes back to the file system.
///
/// The copy is a store in the folder `new` inside the store's folder. It gets the rows tree by tree, in the order of
/// their keys, which fills its pages. The rows that transactions change meanwhile are logged (RowLog) and applied to
/// it. At the end writes wait for a moment, until the copy has all rows and is on the disk; then a rename gives it the
/// name of the old file. A crash at any time leaves one of the two files under that name, with all rows. A draft that
/// was not renamed is removed when the store is next opened.
///
/// If the disk is full, or anything else fails, the store stays as it was, and the draft is removed.
class StoreCompaction {
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

  /// `store` must outlive this.
  StoreCompaction(Store& store, Options options);
  ~StoreCompaction();
  StoreCompaction(const StoreCompaction&) = delete;
  StoreCompaction& operator=(const StoreCompaction&) = delete;

  /// Blocks until the end; called once. One compaction of a store at a time. Errors: timeout: stopped. disk_full: there
  /// is no space for the copy. overloaded: writes were faster than the copy, a write failed on the disk, long reads did
  /// not end, or memory is short. io_failure: the disk failed; if it failed after the rename, the new file is in use,
  /// and writes fail until its name is on the disk. Others: those of reading the store.
  Expected<void> run();

  // Any thread, at any time

  Stage stage() const { return stage_.load(std::memory_order_relaxed); }
  std::uint64_t rows_copied() const { return rows_copied_.load(std::memory_order_relaxed); }
  std::uint64_t rows_expected() const { return rows_expected_.load(std::memory_order_relaxed); }

 private:
  Expected<void> work();
  Expected<void> begin();
  Expected<void> check_space();
  Expected<void> check_stopped() const;
  Expected<void> check_log() const;
  Expected<void> copy();
  struct Slice {
    std::size_t bytes = 0;  ///< copied
    bool has_more = false;  ///< false: the tree is complete
  };
  Expected<Slice> copy_slice(std::size_t bytes_max);
  bool is_busy() const;
  std::size_t slice_bytes(bool busy) const;
  Expected<void> rest(std::chrono::steady_clock::time_point until);
  Expected<void> apply_log();
  Expected<void> catch_up();
  Expected<void> switch_over();
  Expected<bool> try_to_switch(std::chrono::milliseconds patience);
  Expected<void> compare_row_counts();
  Expected<void> replace_file();
  Expected<void> sync_draft();
  void clean_up() noexcept;
  static std::uint64_t rows_in(const Transaction& transaction, Tree tree);

  Store& store_;
  const Options options_;
  const std::unique_ptr<RowLog> log_;
  std::unique_ptr<Store> draft_;
  /// The copy has the rows of all trees before `tree_`, and of this one those up to `last_key_`.
  std::size_t tree_ = 0;
  std::string last_key_;
  std::size_t bytes_unsynced_ = 0;
  int old_file_ = -1;  ///< keeps the pages of the replaced file until writes resume: freeing them takes a while
  std::atomic<Stage> stage_{Stage::copying};
  std::atomic<std::uint64_t> rows_copied_{0};
  std::atomic<std::uint64_t> rows_expected_{0};
};

}  // namespace octavo::storage
