#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/couch/auth/bounded_cache.h"
#include "api/couch/auth/stored_password.h"
#include "partitioning/engine.h"

namespace octavo::api::couch {

/// What authentication knows of one user. Immutable.
struct UserRecord {
  std::string name;
  std::vector<std::string> roles;
  std::optional<StoredPassword> password;  ///< absent: no log-in as this user is possible
  bool conflicted = false;                 ///< the user's document has conflicts: no log-in until they are resolved
  bool too_many_iterations = false;

  std::string_view salt() const { return password ? std::string_view(password->salt) : std::string_view(); }
};

/// Reads a document of `_users`. Ignores system roles (`_…`) except `_metrics`. nullopt if it is not this user's
/// document.
std::optional<UserRecord> parse_user_document(std::string_view name, std::string_view body);

/// How often a cached user was current, and how often it had to be read.
struct UserLookups {
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
};

/// All users by name in their current state: the admins, and the documents of `_users`.
///
/// Thread-safe. Each thread caches the users that it read last. An entry is valid as long as neither `_users` nor the
/// admins have changed, which two atomic loads tell. So a hit shares no lock with other threads and is not stale,
/// except after a purge (`recheck_after` limits this).
class UserDirectory {
 public:
  using Admins = std::map<std::string, StoredPassword, std::less<>>;

  UserDirectory(partitioning::Engine& engine, Admins admins);

  bool has_admins() const { return has_admins_.load(std::memory_order_acquire); }
  void set_admins(Admins admins);
  Admins admins() const;

  /// nullptr if there is no such user. Reads one document on a cache miss. Errors: those of the storage.
  Expected<std::shared_ptr<const UserRecord>> find(std::string_view name);
  void forget(std::string_view name);
  UserLookups lookups() const;

 private:
  struct Entry {
    std::shared_ptr<const UserRecord> record;
    std::string instance_tag;
    storage::Sequence watermark = 0;
    std::uint64_t admins_version = 0;
    std::chrono::steady_clock::time_point read_at;
  };
  struct alignas(64) Slot {
    mutable std::mutex mutex;
    BoundedCache<std::string, Entry, TextHash> entries{1024};
    UserLookups lookups;
  };

  Expected<std::optional<UserRecord>> read_document(partitioning::Database& users, std::string_view name) const;
  Slot& slot_of_this_thread();

  std::optional<StoredPassword> admin_password(std::string_view name) const;

  partitioning::Engine& engine_;
  mutable std::mutex admins_mutex_;
  Admins admins_;  ///< guarded by the mutex
  std::atomic<bool> has_admins_;
  std::atomic<std::uint64_t> admins_version_{0};
  std::array<Slot, 32> slots_;
};

}  // namespace octavo::api::couch
