#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/error.h"
#include "storage/compaction_queue.h"

namespace octavo::partitioning {

/// What the query layer attaches to an open database: its services. Created by the factory given to the Engine.
class DatabaseExtension {
 public:
  virtual ~DatabaseExtension() = default;
  /// Design documents were written (durably). Any thread; must not block.
  virtual void design_documents_changed() = 0;
  /// A group was committed, so the feed grew. Writer thread; must not block.
  virtual void committed() = 0;
  /// Database::definition() has changed. Must not block.
  virtual void definition_changed() {}
  /// Calls the listener after each commit, on the writer's thread, as long as it exists. It must not block.
  using CommitListener = std::function<void()>;
  virtual void add_commit_listener(std::weak_ptr<const CommitListener> /*listener*/) {}
  /// Which projections write into the database has changed. May wait for the disk.
  virtual void owners_changed() {}
  /// The projections of the database write no rows as long as the result lives. Waits for those that are being written.
  virtual std::shared_ptr<void> hold_projections() { return nullptr; }
  /// The catalog has other projections of the database than before: they are read again. Waits for rows that are being
  /// written by those that are gone.
  virtual void projections_changed() {}
  /// The database is being deleted or the server stops: ends background work, waits for it, closes files. Idempotent.
  virtual void shut_down() = 0;

  /// A split or a merge adds a physical partition that is in no range yet, or removes it after a failure. It takes over
  /// documents once partition_added() has returned. Errors: those of the disk.
  virtual Expected<void> partition_added(std::size_t /*partition_id*/) { return {}; }
  virtual void partition_removed(std::size_t /*partition_id*/) {}
  /// Whether the data derived from the documents is as complete in `partition_id` as in `source`.
  virtual bool is_partition_ready(std::size_t /*partition_id*/, std::size_t /*source*/) { return true; }
  /// So many physical partitions the provisioned throughput needs; at least 1.
  virtual std::size_t partitions_needed() { return 1; }
  /// Database::partition_map() has changed.
  virtual void partitions_changed() {}

  /// For stores of the extension, which are counted and closed with the database's: as Database's functions.
  virtual std::size_t open_store_count() const { return 0; }
  virtual std::uint64_t last_used_ms() const { return 0; }
  virtual std::size_t close_idle(std::uint64_t /*last_used_before_ms*/) { return 0; }

  /// Reads from the design documents which indexes exist, if it was not done before. May wait for the disk.
  virtual Expected<void> load_indexes() { return {}; }
  /// The indexes that are known and complete: one target for each design document and index that it defines, so an
  /// index may occur several times.
  virtual std::vector<storage::CompactionQueue::Target> compaction_targets() { return {}; }
};

}  // namespace octavo::partitioning
