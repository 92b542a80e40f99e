#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "api/couch/auth/login_limiter.h"
#include "api/couch/auth/user_directory.h"
#include "api/couch/auth/verified_fingerprints.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

/// Checks passwords: remembered ones immediately, others by PBKDF2 on a worker thread. Thread-safe.
///
/// Concurrent requests with the same new password share one hash computation. At most `checks_max` computations are
/// pending at a time.
class PasswordChecker {
 public:
  static constexpr std::size_t checks_max = 256;
  static constexpr std::size_t password_bytes_max = 16 * 1024;

  explicit PasswordChecker(partitioning::Engine& engine);

  /// True if exactly this password was verified for exactly this record before. Does not wait.
  bool remembered(const UserRecord& user, std::string_view password);

  /// `user` is null if there is no such user. Errors: unauthorized (wrong), forbidden (locked after too many failures),
  /// overloaded.
  Task<Expected<void>> check(std::shared_ptr<const UserRecord> user, std::string name, std::string password,
                             std::string peer_address);

 private:
  struct Flight;
  VerifiedFingerprints::Fingerprint fingerprint(const UserRecord& user, std::string_view password) const;
  Task<Expected<bool>> hash_and_compare(StoredPassword stored, std::string password,
                                        VerifiedFingerprints::Fingerprint fingerprint);

  partitioning::Engine& engine_;
  StoredPassword dummy_;  ///< of users that do not exist, so that their check takes as long as for others
  crypto::KeyedHash keyed_hash_;
  VerifiedFingerprints verified_;
  LoginLimiter limiter_;
  std::mutex flights_mutex_;
  std::unordered_map<VerifiedFingerprints::Fingerprint, std::shared_ptr<Flight>, VerifiedFingerprints::FingerprintHash>
      flights_;
};

}  // namespace octavo::api::couch
