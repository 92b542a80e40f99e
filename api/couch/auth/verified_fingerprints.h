#pragma once

#include <array>
#include <cstring>
#include <mutex>

#include "api/couch/auth/bounded_cache.h"
#include "base/digest.h"

namespace octavo::api::couch {

/// Credentials that were verified before, as keyed hashes of everything that the result depends on: for a password, the
/// user, the password and the stored hash. An entry for a changed password is never found again, so entries need no
/// invalidation.
///
/// Thread-safe, bounded. Each thread searches its own set first, so a hit shares no lock with other threads.
class VerifiedFingerprints {
 public:
  using Fingerprint = crypto::KeyedHash::Value;

  bool contains(const Fingerprint& fingerprint);
  void add(const Fingerprint& fingerprint);

  struct FingerprintHash {
    std::size_t operator()(const Fingerprint& fingerprint) const {
      std::size_t value = 0;  // the first bytes suffice: the fingerprint is random
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
