#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "analytics/follow/definition.h"
#include "analytics/follow/table_feed.h"
#include "analytics/process/process.h"
#include "base/task.h"
#include "query/follow/feed_follower.h"

namespace octavo::analytics {

/// A table of an analytical store and what keeps it up to date: it is opened, again and again until that succeeds, it
/// is fed, and rows that have expired leave it. Thread-safe. Must be owned by a shared_ptr.
class FollowedTable : public std::enable_shared_from_this<FollowedTable> {
 public:
  /// `process`: null: analytics are not enabled, and nothing below may be called but definition() and is_followed().
  /// `may_take_place`: the table is built beside another one, and this is called, more than once, when it may take its
  /// place; null: it answers.
  FollowedTable(query::FollowContext& context, Definition definition, Process* process,
                std::function<void()> may_take_place = nullptr);
  ~FollowedTable();

  Definition definition() const;
  bool is_followed() const { return feed_ != nullptr; }
  TableFeed& feed() const { return *feed_; }

  /// Opens the table in the background.
  void start();
  /// Closes the table in the background, after the batch that is being written, and opens it again, with what its feed
  /// then says. Queries continue.
  void start_again();
  /// Feeds it up to the present, if it is open.
  void wake();
  /// It answers from now on: rows that expire leave it.
  void answer();
  /// Another time that rows stay, and nothing else.
  void change_ttl(Definition definition);
  /// Ends a batch that is under way, with an error, and begins no other one.
  void interrupt();
  /// After interrupt(). Blocks while a batch is written.
  void close();

  /// How far it has followed the database is known.
  bool is_open() const { return is_open_.load(std::memory_order_acquire); }
  /// It had all documents once: what it answers is the past of the database.
  bool is_built() const;
  /// The same since it was opened.
  bool is_complete() const;
  /// Why it cannot be opened; nullopt: it is open.
  std::optional<Error> unopened() const;
  /// The same, or why it cannot be fed.
  std::optional<Error> failure() const;
  /// As DatabaseExtension::followed_through, of this table.
  storage::Sequence followed_through() const;
  std::chrono::milliseconds last_batch() const;

  /// Waits until it has what the database had up to `sequence`, and lacks what was purged. Precondition: is_open().
  /// Errors: as DatabaseAnalytics::wait; not_found: it is to be closed.
  Task<Expected<void>> wait(storage::Sequence sequence, std::chrono::steady_clock::time_point deadline);

 private:
  class Follower;
  void open(std::chrono::milliseconds retry);
  void remove_expired(std::uint64_t plan);
  void plan_expiration(std::uint64_t plan, std::chrono::milliseconds delay);
  void plan_expiration();
  Expected<bool> is_reached(storage::Sequence sequence) const;

  query::FollowContext& context_;
  const std::shared_ptr<TableFeed> feed_;     ///< null: analytics are not enabled
  const std::shared_ptr<Follower> follower_;  ///< null, as above
  const std::function<void()> may_take_place_;
  std::atomic<bool> is_open_{false};
  std::atomic<bool> answers_;
  std::atomic<bool> is_over_{false};               ///< interrupt() was called
  std::atomic<std::uint64_t> expiration_plan_{0};  ///< a job with another number has been replaced

  mutable std::mutex mutex_;  ///< guards the members below
  Definition definition_;
  std::optional<Error> unopened_;
};

}  // namespace octavo::analytics
