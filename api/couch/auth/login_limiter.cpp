#include "api/couch/auth/login_limiter.h"

namespace octavo::api::couch {

namespace {

// Clients choose the names: names that differ only beyond this length share an entry.
constexpr std::size_t name_bytes_kept = 128;

std::string key_of(std::string_view peer_address, std::string_view user) {
  std::string key(peer_address);
  key.push_back('\0');
  return key.append(user.substr(0, name_bytes_kept));
}

}  // namespace

bool LoginLimiter::locked(std::string_view peer_address, std::string_view user, Clock::time_point now) {
  const std::string key = key_of(peer_address, user);
  const std::lock_guard lock(mutex_);
  const Failures* failures = failures_.find(key);
  if (failures == nullptr) return false;
  if (now - failures->since >= window) {
    failures_.erase(key);
    return false;
  }
  return failures->count >= failures_max;
}

void LoginLimiter::failed(std::string_view peer_address, std::string_view user, Clock::time_point now) {
  const std::string key = key_of(peer_address, user);
  const std::lock_guard lock(mutex_);
  Failures* failures = failures_.find(key);
  if (failures == nullptr || now - failures->since >= window) {
    failures_.insert(key, {now, 1});
  } else {
    ++failures->count;
  }
}

void LoginLimiter::succeeded(std::string_view peer_address, std::string_view user) {
  const std::string key = key_of(peer_address, user);
  const std::lock_guard lock(mutex_);
  failures_.erase(key);
}

}  // namespace octavo::api::couch
