#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <utility>

#include "base/thread_ordinal.h"

namespace octavo {

/// A value that is read on every query and replaced now and then. Each thread reads its own slot, so readers do not
/// wait for each other; a writer updates all slots, and none keeps the old value alive.
template <class T>
class Published {
 public:
  std::shared_ptr<const T> load() const {
    const Slot& slot = slots_[thread_ordinal() % slots_.size()];
    const std::lock_guard lock(slot.mutex);
    return slot.value;
  }

  /// One writer at a time; concurrent readers see the old value or the new one.
  void store(const std::shared_ptr<const T>& value) {
    for (Slot& slot : slots_) {
      std::shared_ptr<const T> old = value;
      const std::lock_guard lock(slot.mutex);
      slot.value.swap(old);
    }
  }

 private:
  struct alignas(64) Slot {
    mutable std::mutex mutex;
    std::shared_ptr<const T> value;
  };
  std::array<Slot, 16> slots_;
};

}  // namespace octavo
