#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "partitioning/scan.h"
#include "query/index/active_tasks.h"
#include "query/index/global_index.h"
#include "query/index/sorted_runs.h"
#include "query/json/parsed_document.h"

namespace octavo::query {

/// Builds new global indexes of one database together: reads and parses each document once for all, sorts the entries
/// (on disk, when they are many) and appends them in order.
///
/// Works in slices, so that a worker thread is not held: call run() until it says done. Documents that change meanwhile
/// are in the feed after the checkpoint the finished index gets, which is taken before the scan. A build that is cut
/// short (error, crash, shutdown) leaves the index as `building`; the next one starts over.
class GlobalIndexBuilder {
 public:
  GlobalIndexBuilder(partitioning::Database& database, std::vector<std::shared_ptr<GlobalIndex>> indexes,
                     ActiveTasks* tasks);
  ~GlobalIndexBuilder();

  enum class State : std::uint8_t { more, done };
  /// One slice: some tens of milliseconds. After an error the builder is of no more use.
  Expected<State> run();
  const std::vector<std::shared_ptr<GlobalIndex>>& indexes() const { return indexes_; }

 private:
  struct Target;
  Expected<void> begin();
  Expected<void> scan_slice();
  Expected<void> flush(Target& target);
  Expected<bool> merge_slice(Target& target);

  partitioning::Database& database_;
  std::vector<std::shared_ptr<GlobalIndex>> indexes_;
  ActiveTasks* tasks_;
  std::vector<std::unique_ptr<Target>> targets_;
  std::unique_ptr<partitioning::DocumentScan> scan_;
  DocumentParser parser_;
  storage::Sequence checkpoint_ = 0;
  std::uint64_t purge_count_ = 0;
  std::uint64_t documents_done_ = 0;
  std::uint64_t documents_total_ = 0;
  bool scanned_ = false;
};

}  // namespace octavo::query
