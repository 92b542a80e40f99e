#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/error.h"
#include "storage/lmdb/store_compaction.h"
#include "storage/lmdb/store_preparation.h"

namespace octavo::storage {

/// The compactions of stores and of search indexes, one after the other on a separate thread: each needs space on the
/// disk for a copy. What a compaction did, or why it gave up, is logged. Thread-safe.
class CompactionQueue {
 public:
  /// What happens to the data of an index that is not kept in a store.
  struct Files {
    /// Removes what is no longer used. Blocks, but not for long once `stopped` is true.
    std::function<Expected<void>(const std::function<bool()>& stopped)> compact;
    std::function<std::uint64_t()> file_bytes;
    /// Returns what Store::density() returns. nullopt: the files are not open.
    std::function<std::optional<Density>()> density;
  };
  /// What to compact: a store, or the files of a search index.
  struct Target {
    std::shared_ptr<const void> owner;       ///< the database: kept until the compaction has ended
    std::shared_ptr<const void> index = {};  ///< what owns the store or the files, if it is not the database
    std::string database;                    ///< its name
    std::string design_document = {};        ///< that defines the index
    std::string name;                        ///< for the log: "physical partition 0"
    bool with_documents = true;              ///< compacted together with the documents of the database
    Store* store = nullptr;                  ///< lives as long as `owner` and `index`
    Files files = {};                        ///< used without a store
    std::function<bool()> is_gone;           ///< the compaction is not wanted any more. Any thread, must not block
    /// Different for any two targets whose compactions are different.
    const void* subject() const { return store != nullptr ? store : index.get(); }
    /// Called before the compaction, on its thread: removes rows that need not be copied, and writes others in another
    /// form. May be empty, and may block until it is stopped.
    std::function<Expected<void>(StorePreparation&)> prepare = {};
  };
  /// The compaction that runs now.
  struct Progress {
    std::uint64_t number = 0;  ///< from 1, in this run of the server
    std::string database;
    std::string design_document;                  ///< empty for a physical partition
    bool is_preparing = false;                    ///< Target::prepare runs, and the numbers of rows are its own
    std::optional<StoreCompaction::Stage> stage;  ///< nullopt: it is prepared, or of a search index
    std::uint64_t rows_done = 0;                  ///< rows copied
    std::uint64_t rows_expected = 0;              ///< rows that existed at the beginning
    std::chrono::system_clock::time_point started;
  };

  /// What compactions have done in this run of the server.
  struct Totals {
    std::uint64_t completed = 0;
    std::uint64_t failed = 0;
    std::uint64_t returned_bytes = 0;  ///< by which files became smaller
    std::size_t waiting = 0;           ///< now, with the one that runs
  };
  /// How fast they may be. Both are asked on the thread of the queue; without them there are no limits.
  struct Pace {
    std::function<bool()> is_busy = {};                    ///< as StoreCompaction::Options::is_busy
    std::function<std::uint64_t()> bytes_per_second = {};  ///< for the next compaction; 0: no limit
  };

  static constexpr std::size_t waiting_max = 10'000;

  CompactionQueue() : CompactionQueue(Pace{}) {}
  explicit CompactionQueue(Pace pace) : pace_(std::move(pace)) {}
  ~CompactionQueue();
  CompactionQueue(const CompactionQueue&) = delete;
  CompactionQueue& operator=(const CompactionQueue&) = delete;

  /// Queues compactions, except those of targets that are queued or running already, or gone. Error: overloaded: too
  /// many wait (waiting_max), or the server stops.
  Expected<void> add(std::vector<Target> targets);
  /// nullopt: none runs.
  std::optional<Progress> running() const;
  Totals totals() const;
  /// Whether a compaction of this owner runs or waits.
  bool is_compacting(const void* owner) const;
  /// Whether one of an index that this design document defines does.
  bool is_compacting(const void* owner, std::string_view design_document) const;
  /// Stops the compactions of an owner, and releases it without waiting for their end. What is added for it later must
  /// be gone.
  void forget(const void* owner);
  /// Stops the running compaction, waits for it, and forgets the others. Nothing can be added afterwards.
  void stop();

 private:
  struct Entry {
    std::uint64_t number = 0;
    Target target;
    std::atomic<bool> is_stopped{false};
    bool is_running = false;                        ///< guarded by mutex_
    std::shared_ptr<StorePreparation> preparation;  ///< while it runs; guarded by mutex_
    std::shared_ptr<StoreCompaction> compaction;    ///< of a store, while it runs; guarded by mutex_
    std::chrono::system_clock::time_point started;  ///< guarded by mutex_
  };

  void run();
  void run_one(Entry& entry);
  void prepare(Entry& entry, const std::function<bool()>& stopped);
  std::uint64_t bytes_per_second() const { return pace_.bytes_per_second ? pace_.bytes_per_second() : 0; }
  Expected<void> compact(Entry& entry, const std::function<bool()>& stopped);

  const Pace pace_;
  mutable std::mutex mutex_;  ///< guards all members below
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Entry>> entries_;  ///< the first one runs
  Totals totals_;                               ///< without `waiting`
  std::uint64_t last_number_ = 0;
  bool is_stopping_ = false;
  std::jthread thread_;  ///< started with the first entry
};

}  // namespace octavo::storage
