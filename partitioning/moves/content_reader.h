#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "partitioning/keys/partition_key.h"
#include "storage/catalog.h"
#include "storage/partition/document_copy.h"
#include "storage/partition/physical_partition.h"
#include "storage/partition/unfed_changes.h"

namespace octavo::partitioning {

/// How the ids of a database's documents become positions of the hash space.
struct HashedBy {
  bool partitioned = false;
  storage::KeyScheme scheme = storage::KeyScheme::text;
};

/// Reads the content of some physical partitions, batch by batch, divided among those that take it over: first what
/// they have, then what was written since. One thread at a time.
class ContentReader {
 public:
  struct Source {
    std::shared_ptr<storage::PhysicalPartition> partition;
    HashPosition last = 0;  ///< of its range
  };
  using Copies = std::vector<storage::PartitionCopy>;  ///< one for each target

  /// `target_ends`: the last positions of the targets, in order. `copied`: counts the documents read, and must outlive
  /// this.
  ContentReader(std::vector<Source> sources, std::vector<HashPosition> target_ends, HashedBy hashed_by,
                std::atomic<std::uint64_t>& copied);
  ~ContentReader();
  ContentReader(const ContentReader&) = delete;
  ContentReader& operator=(const ContentReader&) = delete;

  /// The next batch. True: it contains nearly everything that the sources had at the start of the call.
  Expected<bool> read(Copies& copies);
  /// The counters of the sources, when everything else was read and nothing is written any more.
  Expected<Copies> read_ends() const;

  /// Changes with each batch that reads anything.
  std::uint64_t position() const { return rows_read_; }

 private:
  struct Reading;
  struct Progress {
    storage::Sequence position = 0;  ///< in the feed
    storage::Sequence versions_position = 0;
    std::string local_position;
    bool locals_copied = false;
  };
  class Batch;

  Expected<void> read_unfed(std::vector<std::unique_ptr<Reading>>& readings, Batch& batch);
  static void read_locals(Reading& reading, Batch& batch);
  Expected<bool> read_feeds(std::vector<std::unique_ptr<Reading>>& readings, Batch& batch);
  HashPosition position_of(std::string_view id) const;
  std::size_t source_of(HashPosition position) const;
  std::size_t target_of(HashPosition position) const;

  const std::vector<Source> sources_;
  const std::vector<HashPosition> target_ends_;
  const HashedBy hashed_by_;
  std::atomic<std::uint64_t>& copied_;
  const std::shared_ptr<storage::UnfedChanges> unfed_;  ///< of all sources
  storage::UnfedChanges::Ids pending_;
  std::vector<Progress> progress_;
  std::uint64_t rows_read_ = 0;
};

}  // namespace octavo::partitioning
