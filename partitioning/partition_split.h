#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "partitioning/database.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/unfed_changes.h"

namespace octavo::partitioning {

/// Progress of a split. Read by other threads while it runs.
enum class SplitStage : std::uint8_t {
  waiting,      ///< for earlier splits
  copying,      ///< the documents that existed at the beginning
  catching_up,  ///< with later writes, and waiting for indexes that are being built
  switching,    ///< writes wait
  done,
};

/// Splits one physical partition of a database in two, online.
///
/// Two new partitions copy a snapshot of the old one, document by document in the order of the feed, with their
/// sequences and revisions; then the later writes, repeatedly until little is left. Then the writes of the old
/// partition are held back, the rest is copied, the catalog gets the new map in one transaction, and the held writes
/// continue in the new partitions: requests notice only a short wait. As sequences do not change, positions in the feed
/// stay valid, and so do the indexes that follow it. Local indexes of the new partitions are maintained from their
/// first document on.
///
/// Crash-safe: before the catalog's transaction the new partitions are strays, after it the old one is; a database
/// removes its strays when it is opened. The old files are kept for some time, for requests that began before.
class PartitionSplit {
 public:
  /// Both functions are called now and then, from the thread that runs the split. `stopped`: give up. `server_ends`: do
  /// not even wait any longer for a catalog that can be neither written nor read, which leaves the writes of the
  /// partition waiting; if it is null, `stopped` decides that, too.
  PartitionSplit(std::shared_ptr<Database> database, std::size_t partition_id, std::function<bool()> stopped,
                 std::function<bool()> server_ends = {});
  ~PartitionSplit();
  PartitionSplit(const PartitionSplit&) = delete;
  PartitionSplit& operator=(const PartitionSplit&) = delete;

  /// Blocks until it is done: minutes for gigabytes. After an error everything is as before. Errors: bad_request (the
  /// partition was split already, or cannot be), those of the disk, not_found if the database is deleted, timeout when
  /// stopped.
  Expected<void> run();

  SplitStage stage() const { return stage_.load(std::memory_order_relaxed); }
  std::uint64_t copied() const { return copied_.load(std::memory_order_relaxed); }
  std::uint64_t expected() const { return expected_.load(std::memory_order_relaxed); }  ///< documents at the beginning

  /// Where to cut the range of a physical partition so that both parts have about the same size: the first position of
  /// the upper part. nullopt: all documents have the same position, so a cut would move nothing.
  static Expected<std::optional<HashPosition>> balanced_cut(const Database& database, std::size_t partition_id);

 private:
  using Halves = std::array<storage::PartitionCopy, 2>;

  Expected<void> begin();
  Expected<void> copy();
  Expected<bool> copy_batch();
  Expected<bool> read_batch(Halves& halves);
  Expected<void> adopt(Halves halves);
  Expected<void> switch_over();
  Expected<void> end_copy();
  Expected<void> change_catalog();
  void give_up();
  bool is_ready() const;
  std::size_t half_of(std::string_view document_id) const;
  Expected<void> check_stopped() const;

  const std::shared_ptr<Database> database_;
  const std::size_t partition_id_;
  const std::function<bool()> stopped_;
  const std::function<bool()> server_ends_;
  std::shared_ptr<storage::PhysicalPartition> source_;
  std::vector<storage::PartitionMapEntry> ranges_;  ///< of the two new partitions
  std::vector<std::shared_ptr<storage::PhysicalPartition>> targets_;
  HashPosition cut_ = 0;
  bool sealed_ = false;
  bool ended_ = false;       ///< the new map is in force
  bool is_unknown_ = false;  ///< it is unknown which map is on the disk

  std::shared_ptr<storage::UnfedChanges> unfed_;
  storage::UnfedChanges::Ids pending_;
  storage::Sequence position_ = 0;  ///< in the feed of the source
  storage::Sequence versions_position_ = 0;
  std::string local_position_;
  bool locals_copied_ = false;

  std::atomic<SplitStage> stage_{SplitStage::waiting};
  std::atomic<std::uint64_t> copied_{0};
  std::atomic<std::uint64_t> expected_{0};
};

}  // namespace octavo::partitioning
