#pragma once

#include <cerrno>
#include <initializer_list>
#include <mutex>
#include <new>
#include <set>
#include <string>

#include "storage/lmdb/fault_injector.h"

namespace octavo::tests {

/// Makes chosen storage calls fail. Counts the calls it is asked about, so that a test can fail the first, then the
/// second, and so on until an operation runs through.
class FaultPlan final : public storage::FaultInjector {
 public:
  using Call = storage::StorageCall;
  /// As a code: throws std::bad_alloc.
  static constexpr int no_memory = -1;

  struct Fault {
    int code = EIO;
    std::set<Call> calls{};     ///< which calls count, and may fail; empty: all
    std::size_t from = 1;       ///< the first of them that fails
    bool lasting = false;       ///< and all after it, until heal()
    bool took_place = false;    ///< a commit: the disk took it all the same
    bool panics = false;        ///< LMDB then refuses everything in that folder until it is opened again
    std::string folder_part{};  ///< only in folders whose path contains it
  };

  void plan(Fault fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
    armed_ = true;
    seen_ = fired_ = 0;
  }
  /// From now on calls succeed again.
  void heal() {
    const std::lock_guard lock(mutex_);
    armed_ = false;
  }
  /// Whether calls may still fail.
  bool is_armed() const {
    const std::lock_guard lock(mutex_);
    return armed_;
  }
  /// How many calls failed since plan().
  std::size_t fired() const {
    const std::lock_guard lock(mutex_);
    return fired_;
  }
  /// How many calls that might have failed were made since plan().
  std::size_t seen() const {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  /// How many calls of one kind were let through, ever.
  std::size_t made(Call call) const {
    const std::lock_guard lock(mutex_);
    return made_[static_cast<std::size_t>(call)];
  }

  int before(Call call, const std::filesystem::path& folder) override {
    const std::lock_guard lock(mutex_);
    if (call == Call::open) panicked_.erase(folder);
    if ((call == Call::begin_read || call == Call::begin_write) && panicked_.contains(folder)) {
      return storage::fault_code::must_reopen;
    }
    if (!(call == Call::commit && fault_.took_place) && strikes(call, folder)) {
      if (fault_.panics && call == Call::commit) panicked_.insert(folder);
      if (fault_.code == no_memory) throw std::bad_alloc();
      return fault_.code;
    }
    ++made_[static_cast<std::size_t>(call)];
    return 0;
  }
  int after_commit(const std::filesystem::path& folder) override {
    const std::lock_guard lock(mutex_);
    if (!fault_.took_place || !strikes(Call::commit, folder)) return 0;
    if (fault_.panics) panicked_.insert(folder);
    return fault_.code;
  }

 private:
  bool strikes(Call call, const std::filesystem::path& folder) {
    if (!armed_ || (!fault_.calls.empty() && !fault_.calls.contains(call))) return false;
    if (folder.string().find(fault_.folder_part) == std::string::npos) return false;
    ++seen_;
    if (seen_ < fault_.from || (seen_ > fault_.from && !fault_.lasting)) return false;
    ++fired_;
    return true;
  }

  mutable std::mutex mutex_;
  Fault fault_;
  bool armed_ = false;
  std::size_t seen_ = 0;
  std::size_t fired_ = 0;
  std::size_t made_[16] = {};
  std::set<std::filesystem::path> panicked_;
};

}  // namespace octavo::tests
