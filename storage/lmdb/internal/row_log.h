#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/function_ref.h"

namespace octavo::storage {

/// The rows that transactions have changed in a store, in the order of their commits, each with its new value: what a
/// copy of the store is brought up to date with (StoreCopy).
///
/// The writer adds, cuts and seals; another thread takes. It never fails a write: it breaks off instead, when memory is
/// short or more than waiting_bytes_max wait, and the copy is given up.
class RowLog {
 public:
  static constexpr std::size_t waiting_bytes_max = 256ULL << 20;

  struct Row {
    std::size_t tree = 0;  ///< index in Store::Options::trees
    std::string_view key;
    std::optional<std::string_view> value;  ///< nullopt: the row was erased
  };

  // For the writer, who holds the store's write turn

  void add(std::size_t tree, std::string_view key, std::optional<std::string_view> value) noexcept;
  /// Size of what was added since the last seal: for cut().
  std::size_t mark() const { return pending_.size(); }
  /// Forgets what was added after `mark`, because it was undone.
  void cut(std::size_t mark) noexcept;
  /// What was added is committed.
  void seal() noexcept;
  /// It is unknown whether what was added is committed, or the log cannot have it.
  void break_off() noexcept { broken_.store(true, std::memory_order_release); }

  // For the thread that applies the rows

  /// Removes and returns the oldest committed rows, about `bytes_max` or one transaction. Empty: no rows wait.
  std::string take(std::size_t bytes_max);
  std::size_t waiting_bytes() const;
  bool broken() const { return broken_.load(std::memory_order_acquire); }
  /// Calls `apply` for each row of a result of take(), in order, until it fails.
  static Expected<void> for_each(std::string_view rows, FunctionRef<Expected<void>(const Row&)> apply);

 private:
  std::string pending_;  ///< of the transaction that is being written
  mutable std::mutex mutex_;
  std::deque<std::string> sealed_;  ///< one string per transaction; guarded by mutex_
  std::size_t waiting_bytes_ = 0;   ///< of sealed_; guarded by mutex_
  std::atomic<bool> broken_{false};
};

}  // namespace octavo::storage
