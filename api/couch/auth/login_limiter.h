#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "api/couch/auth/bounded_cache.h"

namespace octavo::api::couch {

/// Slows down password guessing: after `failures_max` wrong passwords for one user from one address within `window`,
/// further guesses from there are refused until the window has passed. Requests with a remembered password or a session
/// cookie are not checked here, so guesses from a shared address do not lock out clients that are logged in.
///
/// Thread-safe. Remembers the `entries_max` pairs of address and user that failed last, so memory is bounded.
class LoginLimiter {
 public:
  static constexpr std::uint32_t failures_max = 10;
  static constexpr std::chrono::seconds window{60};
  static constexpr std::size_t entries_max = 10'000;

  using Clock = std::chrono::steady_clock;

  bool locked(std::string_view peer_address, std::string_view user, Clock::time_point now);
  void failed(std::string_view peer_address, std::string_view user, Clock::time_point now);
  void succeeded(std::string_view peer_address, std::string_view user);

 private:
  struct Failures {
    Clock::time_point since;
    std::uint32_t count = 0;
  };
  std::mutex mutex_;
  BoundedCache<std::string, Failures, TextHash> failures_{entries_max};
};

}  // namespace octavo::api::couch
