#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <boost/json.hpp>

#include "analytics/channel/channel.h"
#include "analytics/follow/definition.h"
#include "analytics/process/process.h"
#include "analytics/table/document_table.h"
#include "partitioning/database.h"
#include "query/follow/feed_index.h"
#include "query/follow/purge_scan.h"

namespace octavo::analytics {

/// Passes the feed of a database to its table in the analytical process (DocumentTable), in batches, and waits for each
/// until it is committed there. The table's checkpoint is the truth: after a crash of either process the feed continues
/// from it.
///
/// The server pushes, because it has the follower that knows purges, dropped tombstones and moves (query/follow).
class TableFeed final : public query::FeedConsumer {
 public:
  /// `is_beside`: the table is built beside another one, unless it has taken its place already.
  TableFeed(partitioning::Database& database, Definition definition, bool is_beside, Process& process);

  /// Opens the table, and learns how far it is. Errors: those of Process::connect and of the process.
  Expected<void> open();
  /// open() opens it again. Blocks while a batch is written.
  void close_for_now();
  /// From the next opening on the builds up to `ended` are over, so that what is there of them is removed, and
  /// `building` is built beside this table; 0: none is.
  void set_builds(std::uint64_t ended, std::uint64_t building);
  /// The builds up to this number are over, as far as is known.
  std::uint64_t builds_ended() const { return builds_ended_.load(std::memory_order_acquire); }
  /// Whether it is beside another one is known: no attempt to take its place has ended without an answer.
  void forget_place() { knows_place_.store(false, std::memory_order_release); }
  bool knows_place() const { return knows_place_.load(std::memory_order_acquire); }
  /// False: the table answers, or is going to, and nothing else does.
  bool is_beside() const { return is_beside_.load(std::memory_order_acquire); }
  /// The table takes the place of the one that it is built beside, whose feed is closed. Blocks while batches of the
  /// two are written. False: the other one knows more of the database. Errors: as open(); the table may have taken the
  /// place nevertheless, as it says when it is opened again.
  Expected<bool> take_place_of(TableFeed& other);
  /// Closes the table in the process. Blocks while a batch is written.
  void close();
  /// Ends a batch that is under way with an error.
  void interrupt();

  storage::Sequence checkpoint() const override { return checkpoint_.load(std::memory_order_acquire); }
  storage::Sequence complete_through() const override { return complete_through_.load(std::memory_order_acquire); }
  std::uint64_t purge_count() const override { return purge_count_.load(std::memory_order_acquire); }
  storage::Sequence knows_deletions_through() const override;
  query::FeedBodies bodies() const override { return query::FeedBodies::as_stored; }
  Expected<std::size_t> apply(const query::FeedChanges& changes) override;
  Expected<bool> remove_known(const query::KnownPurges& purges) override;
  Expected<bool> remove_purged(const query::GoneDocuments& gone, std::size_t documents_max) override;

  /// Removes some of the rows that have expired, or that are kept for deleted documents and are not to stay any more;
  /// true: there may be more. Errors: as open().
  Expected<bool> remove_expired();
  /// Another time that rows stay; the table is opened again if it has to read the feed again. `definition` differs from
  /// the one before in nothing else. Blocks while a batch is written if the feed is read again. One caller at a time.
  void change_ttl(const Definition& definition);
  std::int64_t ttl_s() const { return ttl_s_.load(std::memory_order_acquire); }

  /// The table had all documents once.
  bool built() const { return built_.load(std::memory_order_acquire); }
  /// How long the last batch took.
  std::chrono::milliseconds last_batch() const { return last_batch_.load(std::memory_order_relaxed); }

 private:
  Expected<std::string> ask(FrameKind kind, std::string_view payload);
  Expected<void> learn_state(std::string_view payload);
  void raise_builds_ended(std::uint64_t ended);
  Expected<void> remove(const std::vector<std::string>& ids, std::uint64_t purge_count, bool marks = false);
  Expected<void> open_with_lock();
  void close_with_lock();
  RowChange row_change(const query::FeedDocument& document, std::int64_t now_s) const;
  Expected<std::vector<std::string>> newly_purged(const query::KnownPurges& purges) const;
  Expected<bool> has_tombstone(const std::string& id) const;

  partitioning::Database& database_;
  const Definition definition_;  ///< but for the next two
  std::atomic<std::int64_t> ttl_s_;
  Process& process_;

  std::mutex work_mutex_;  ///< held while a batch is written; guards the next three
  bool closed_ = false;
  std::uint64_t rereads_;
  query::PurgeScan purge_scan_;

  std::mutex channel_mutex_;        ///< guards channel_, but not its use by the holder of work_mutex_
  std::optional<Channel> channel_;  ///< nullopt: not open; changed with both mutexes held

  std::atomic<storage::Sequence> checkpoint_{0};
  std::atomic<storage::Sequence> complete_through_{0};
  std::atomic<std::uint64_t> purge_count_{0};
  std::atomic<std::uint64_t> builds_ended_;
  std::atomic<std::uint64_t> building_{0};
  std::atomic<bool> is_beside_;
  std::atomic<bool> knows_place_{true};
  std::atomic<storage::Sequence> reread_to_{0};
  std::atomic<bool> built_{false};
  std::atomic<std::chrono::milliseconds> last_batch_{};
};

}  // namespace octavo::analytics
