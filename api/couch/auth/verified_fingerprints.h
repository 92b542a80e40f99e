#pragma once

#include <array>
#include <cstring>
#include <mutex>

#include "api/couch/auth/bounded_cache.h"
#include "base/digest.h"

namespace octavo::api::couch {

/// Credentials that were verified once, as keyed hashes of all that the verdict depends on: for a password its user,
/// itself and the stored hash. So a changed password is not found again, and nothing ever needs to be invalidated.
///
/// Thread-safe, bounded. Each thread looks into a set of its own first, so a hit shares no lock with other threads.
class VerifiedFingerprints {
 public:
  using Fingerprint = crypto::KeyedHash::Value;

  bool contains(const Fingerprint& fingerprint);
  void add(const Fingerprint& fingerprint);

  struct FingerprintHash {
    std::size_t operator()(const Fingerprint& fingerprint) const {
      std::size_t value = 0;  // the fingerprint is random already
      std::memcpy(&value, fingerprint.data(), sizeof value);
      return value;
    }
  };

 private:
  using Set = BoundedCache<Fingerprint, bool, FingerprintHash>;
  struct alignas(64) Slot {
    std::mutex mutex;
    Set fingerprints{512};
  };
  Slot& slot_of_this_thread();

  std::array<Slot, 32> slots_;
  std::mutex shared_mutex_;
  Set shared_{8192};
};

}  // namespace octavo::api::couch
