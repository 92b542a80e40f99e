#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/task.h"
#include "partitioning/change_notifier.h"

namespace octavo::partitioning {

/// The feed of changes to databases (`_db_updates`): each database once, at its newest event. Kept in memory: a `since`
/// of an earlier run of the server starts again with all databases, so followers miss nothing. Thread-safe.
class DatabaseUpdates {
 public:
  enum class Kind : std::uint8_t { created, updated, deleted };
  struct Event {
    std::uint64_t sequence = 0;
    std::string database;
    Kind kind = Kind::updated;
  };

  explicit DatabaseUpdates(std::string run_tag);

  void record(std::string_view database, Kind kind);
  /// Records a commit in a database, unless `deleted` is set: a commit may end after the deletion of its database, or
  /// after it got another name, which followers must not take for the recreation of what is gone.
  void record_commit(const std::atomic<const std::string*>& database, const std::atomic<bool>& deleted);
  /// Records all existing databases. Must be called at the start, before anything else.
  void record_all(const std::set<std::string>& databases);
  /// Events after `since`, oldest first, at most `limit`.
  std::vector<Event> since(std::uint64_t since, std::size_t limit) const;
  std::uint64_t last_sequence() const;
  /// Format (sequence of _db_updates):
  ///   sequence := number "-" run tag      the run tag is made when the server starts
  std::string format_sequence(std::uint64_t sequence) const;
  /// `n-<run tag>`, a number, or `now`; another run's tag gives 0; nullopt if malformed.
  std::optional<std::uint64_t> parse_sequence(std::string_view text) const;
  Task<bool> wait(std::uint64_t after, std::chrono::steady_clock::time_point deadline);

 private:
  void put(std::string_view database, Kind kind);

  mutable std::mutex mutex_;  ///< guards all members below up to notifier_
  std::string run_tag_;
  std::uint64_t last_ = 0;
  std::map<std::uint64_t, Event> events_;
  std::unordered_map<std::string, std::uint64_t> newest_;
  ChangeNotifier notifier_;
};

}  // namespace octavo::partitioning
