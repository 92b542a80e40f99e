#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "config/settings.h"

namespace octavo::config {

/// The settings in effect, which can change while all threads read them.
///
/// now() costs one atomic load. It returns a version that never changes and lives as long as this object, so a request
/// may keep the reference. Versions are therefore kept: an equal one is used again, and versions_max bounds their
/// number. Thread-safe.
class LiveSettings {
 public:
  static constexpr std::size_t versions_max = 10'000;

  explicit LiveSettings(Settings settings);
  LiveSettings(const LiveSettings&) = delete;
  LiveSettings& operator=(const LiveSettings&) = delete;

  const Settings& now() const { return *now_.load(std::memory_order_acquire); }
  /// Makes `settings` the version that now() returns. False: there are versions_max others, and nothing has changed.
  bool replace(Settings settings);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<const Settings>> versions_;  ///< guarded by mutex_
  std::atomic<const Settings*> now_;
};

/// A value that is made from settings, such as a policy: made once per version of them, then found by one atomic load.
/// Thread-safe. The LiveSettings must outlive it.
template <class T>
class MadeFromSettings {
 public:
  /// `make(settings)`, made at the first call for this version. The reference is valid as long as this object.
  template <class Make>
  const T& of(const Settings& settings, const Make& make) const {
    const Entry* newest = newest_.load(std::memory_order_acquire);
    if (newest != nullptr && newest->settings == &settings) return newest->value;
    const std::lock_guard lock(mutex_);
    for (const auto& entry : entries_) {
      if (entry->settings == &settings) return publish(*entry);
    }
    entries_.push_back(std::unique_ptr<const Entry>(new Entry{&settings, make(settings)}));
    return publish(*entries_.back());
  }

 private:
  struct Entry {
    const Settings* settings;
    T value;
  };

  const T& publish(const Entry& entry) const {
    newest_.store(&entry, std::memory_order_release);
    return entry.value;
  }

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<const Entry>> entries_;  ///< guarded by mutex_
  mutable std::atomic<const Entry*> newest_{nullptr};
};

}  // namespace octavo::config
