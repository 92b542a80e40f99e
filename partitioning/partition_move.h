#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "partitioning/moves/content_reader.h"

namespace octavo::partitioning {

/// Progress of a move. Read by other threads while it runs.
enum class MoveStage : std::uint8_t {
  waiting,      ///< for earlier moves
  copying,      ///< the documents that existed at the beginning
  catching_up,  ///< with later writes, and waiting for indexes that are being built
  switching,    ///< writes wait
  done,
};

/// Moves the content of physical partitions to new ones, online: of one to two (a split), or of two neighbours to one
/// (a merge).
///
/// The new partitions copy snapshots of the sources, document by document in the order of their feeds, with their
/// sequences and revisions; then the later writes, repeatedly until little is left. Then the writes of all sources are
/// held back together, the rest is copied, the catalog gets the new map in one transaction, and the held writes
/// continue in the new partitions: requests notice only a short wait. As sequences do not change, positions in the feed
/// stay valid, and so do the indexes that follow it. Local indexes of the new partitions are maintained from their
/// first document on.
///
/// Crash-safe: before the catalog's transaction the new partitions are strays, after it the sources are; a database
/// removes its strays when it is opened. The old files are kept for some time, for requests that began before.
class PartitionMove {
 public:
  /// `sources`: one partition id is split, two neighbours are merged, in any order. Both functions are called now and
  /// then, from the thread that runs the move. `stopped`: give up. `server_ends`: do not even wait any longer for a
  /// catalog that can be neither written nor read, which leaves the writes of the sources waiting; if it is null,
  /// `stopped` decides that, too.
  PartitionMove(std::shared_ptr<Database> database, std::vector<std::size_t> sources, std::function<bool()> stopped,
                std::function<bool()> server_ends = {});
  ~PartitionMove();
  PartitionMove(const PartitionMove&) = delete;
  PartitionMove& operator=(const PartitionMove&) = delete;

  /// Blocks until it is done: minutes for gigabytes. After an error everything is as before. Errors: bad_request (a
  /// source was split or merged already, or cannot be), those of the disk, not_found if the database is deleted,
  /// timeout when stopped.
  Expected<void> run();

  MoveStage stage() const { return stage_.load(std::memory_order_relaxed); }
  std::uint64_t copied() const { return copied_.load(std::memory_order_relaxed); }
  std::uint64_t expected() const { return expected_.load(std::memory_order_relaxed); }  ///< documents at the beginning

  /// Whether two physical partitions may become one. Errors: bad_request with the reason; those of the disk.
  static Expected<void> check_merge(const Database& database, std::size_t partition_id, std::size_t other);
  /// The share of the size at which partitions are split that the sources of a merge may have together.
  static constexpr std::uint64_t merged_percent_max = 80;

  /// The new ranges, once run() has begun.
  const std::vector<storage::PartitionMapEntry>& targets() const { return ranges_; }

  /// Where to cut the range of a physical partition so that both parts have about the same size: the first position of
  /// the upper part. nullopt: all documents have the same position, so a cut would move nothing.
  static Expected<std::optional<HashPosition>> balanced_cut(const Database& database, std::size_t partition_id);

 private:
  Expected<void> begin();
  Expected<void> begin_split(const PartitionMap& map);
  Expected<void> begin_merge(const PartitionMap& map);
  Expected<void> add_targets(const PartitionMap& map);
  Expected<void> copy();
  Expected<bool> copy_batch();
  Expected<void> adopt(ContentReader::Copies copies);
  Expected<void> seal();
  void unseal();
  Expected<void> switch_over();
  Expected<void> end_copy();
  Expected<void> change_catalog();
  void give_up();
  bool is_ready() const;
  bool is_merge() const { return source_ids_.size() > 1; }
  Expected<void> check_stopped() const;

  const std::shared_ptr<Database> database_;
  const std::vector<std::size_t> source_ids_;
  const std::function<bool()> stopped_;
  const std::function<bool()> server_ends_;
  std::vector<std::shared_ptr<storage::PhysicalPartition>> sources_;
  std::vector<storage::PartitionMapEntry> ranges_;  ///< of the new partitions
  std::vector<std::shared_ptr<storage::PhysicalPartition>> targets_;
  std::unique_ptr<ContentReader> reader_;
  bool sealed_ = false;
  bool ended_ = false;       ///< the new map is in force
  bool is_unknown_ = false;  ///< it is unknown which map is on the disk

  std::atomic<MoveStage> stage_{MoveStage::waiting};
  std::atomic<std::uint64_t> copied_{0};
  std::atomic<std::uint64_t> expected_{0};
};

}  // namespace octavo::partitioning
