#include "api/couch/auth/verified_fingerprints.h"

#include "base/thread_ordinal.h"

namespace octavo::api::couch {

VerifiedFingerprints::Slot& VerifiedFingerprints::slot_of_this_thread() {
  return slots_[thread_ordinal() % slots_.size()];
}

bool VerifiedFingerprints::contains(const Fingerprint& fingerprint) {
  Slot& slot = slot_of_this_thread();
  {
    const std::lock_guard lock(slot.mutex);
    if (slot.fingerprints.find(fingerprint) != nullptr) return true;
  }
  {
    const std::lock_guard lock(shared_mutex_);
    if (shared_.find(fingerprint) == nullptr) return false;
  }
  const std::lock_guard lock(slot.mutex);
  slot.fingerprints.insert(fingerprint, true);
  return true;
}

void VerifiedFingerprints::add(const Fingerprint& fingerprint) {
  const std::lock_guard lock(shared_mutex_);
  shared_.insert(fingerprint, true);
}

}  // namespace octavo::api::couch
