#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "config/settings.h"
#include "partitioning/moves/merge_watch.h"
#include "partitioning/partition_move.h"

namespace octavo::partitioning {

/// The splits and merges of a server, one after the other on a separate thread: the requested ones, and those of
/// physical partitions that have grown too large. Remembers their results until they are forgotten. Thread-safe.
class MoveQueue {
 public:
  /// A stopped job waits until it is resumed. Stopping the whole queue leaves its jobs queued.
  enum class State : std::uint8_t { queued, running, completed, failed, stopped };

  struct Job {
    std::uint64_t number = 0;  ///< from 1, in this run of the server
    std::string database;
    std::string instance_tag;
    std::vector<std::size_t> partition_ids;           ///< one is split, two are merged
    std::vector<storage::PartitionMapEntry> sources;  ///< their ranges, in order
    std::vector<storage::PartitionMapEntry> targets;  ///< set when completed
    State state = State::queued;
    MoveStage stage = MoveStage::waiting;
    std::uint64_t copied = 0;    ///< documents, including those copied again because they changed
    std::uint64_t expected = 0;  ///< documents that existed at the beginning
    std::string failure;         ///< why it failed or was stopped
    std::chrono::system_clock::time_point created;
    std::chrono::system_clock::time_point updated;

    bool is_merge() const { return partition_ids.size() > 1; }
  };

  static constexpr std::size_t partitions_max = 1024;  ///< of one database
  static constexpr std::size_t jobs_max = 1000;        ///< remembered; the oldest ended ones are dropped first

  explicit MoveQueue(std::chrono::seconds source_kept) : source_kept_(source_kept) {}
  /// Until then moves are only queued and tend() does nothing: a program that inspects a folder changes nothing.
  void start();
  ~MoveQueue();
  MoveQueue(const MoveQueue&) = delete;
  MoveQueue& operator=(const MoveQueue&) = delete;

  /// Queues the split of a physical partition; returns the job's number. Errors: bad_request (no such partition id,
  /// queued already, or the database has partitions_max partitions), overloaded (jobs_max are waiting).
  Expected<std::uint64_t> add(const std::shared_ptr<Database>& database, std::size_t partition_id);
  /// Queues the merge of two neighbours; the errors are those of PartitionMove::check_merge, too.
  Expected<std::uint64_t> add_merge(const std::shared_ptr<Database>& database, std::size_t partition_id,
                                    std::size_t other);
  /// The neighbours that have the least bytes together. Errors: bad_request if there is only one physical partition.
  static Expected<std::pair<std::size_t, std::size_t>> smallest_pair(const Database& database);
  /// Splits the widest ranges until the database has `count` physical partitions (at most partitions_max).
  void grow(const std::shared_ptr<Database>& database, std::size_t count);

  std::vector<Job> jobs() const;  ///< oldest first
  std::optional<Job> job(std::uint64_t number) const;
  /// False: there is no such job. Removes a waiting job from the queue, and stops a running one.
  bool forget(std::uint64_t number);

  /// Stops the job: it gives up what it has copied, and begins again when it is resumed. No effect on one that has
  /// ended. False: there is no such job.
  bool stop_job(std::uint64_t number, std::string reason);
  bool resume_job(std::uint64_t number);
  /// Pauses the whole queue until resume(): no job runs, and the running one gives up and begins again later.
  void pause(std::string reason);
  void resume();
  /// Why the queue is paused; nullopt: it is not.
  std::optional<std::string> pause_reason() const;

  /// Splits partitions larger than `bytes_max`, and removes the files of sources that are due. Called now and then.
  void tend(const std::vector<std::shared_ptr<Database>>& open_databases, std::uint64_t bytes_max);

  /// Merges neighbours that have stayed small, if the settings say so. Called now and then, by one thread.
  void tend_merges(const std::vector<std::shared_ptr<Database>>& open_databases, const config::Settings& settings);

  /// Stops the running job and forgets the others. Nothing may be added afterwards.
  void stop();

 private:
  using Clock = std::chrono::steady_clock;

  struct Entry {
    Job job;
    std::shared_ptr<Database> database;  ///< until it has ended
    std::size_t grow_to = 0;             ///< continue with other partitions until there are this many; 0: no
    std::shared_ptr<PartitionMove> move;
    std::shared_ptr<std::atomic<bool>> stop = std::make_shared<std::atomic<bool>>(false);
    bool held = false;        ///< to be stopped, or stopped
    std::string hold_reason;  ///< of that
    std::shared_ptr<std::atomic<bool>> put_off = std::make_shared<std::atomic<bool>>(false);  ///< ends this run of it
  };
  /// A physical partition that was split or merged and still has its files.
  struct Source {
    std::weak_ptr<Database> database;
    std::size_t partition_id;
    Clock::time_point remove_at;
  };

  void run();
  void wake();
  void run_one(Entry& entry, std::unique_lock<std::mutex>& lock);
  std::shared_ptr<Entry> entry_of(std::uint64_t number) const;
  void hold(Entry& entry);
  Expected<std::uint64_t> enqueue(const std::shared_ptr<Database>& database, std::vector<std::size_t> partition_ids,
                                  std::size_t grow_to);
  static bool concerns(const Entry& entry, const Database& database, std::span<const std::size_t> partition_ids);
  static void tell_end(Database& database);
  void end_jobs_of_deleted();
  void remove_sources();
  bool has_jobs_of(const Database& database) const;
  Job shown(const Entry& entry) const;

  const std::chrono::seconds source_kept_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Entry>> entries_;
  std::vector<Source> sources_;
  struct Refused {
    std::string instance_tag;
    std::size_t partition_id;
    Clock::time_point until;
  };
  std::vector<Refused> refused_;  ///< too large, but not split automatically before `until`
  MergeWatch merge_watch_;        ///< used by tend_merges() only, like the next one
  Clock::time_point merges_due_{};
  std::uint64_t last_number_ = 0;
  std::optional<std::string> pause_reason_;
  bool started_ = false;
  bool stopping_ = false;
  std::jthread thread_;  ///< started with the first job
};

}  // namespace octavo::partitioning
