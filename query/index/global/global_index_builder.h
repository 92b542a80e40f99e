#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "partitioning/scan.h"
#include "query/follow/active_tasks.h"
#include "query/index/global/global_index.h"
#include "query/index/global/sorted_runs.h"
#include "query/json/parsed_document.h"

namespace octavo::query {

/// Builds new global indexes of one database together: reads and parses each document once for all, sorts the entries
/// (on disk, if there are many) and appends them in order.
///
/// Works in slices, so that it does not occupy a worker thread: call run() until it returns done. Documents that change
/// meanwhile are in the feed after the finished index's checkpoint, which is taken before the scan. An interrupted
/// build (error, crash, shutdown) leaves the index as `building`; the next build starts over.
class GlobalIndexBuilder {
 public:
  GlobalIndexBuilder(partitioning::Database& database, std::vector<std::shared_ptr<GlobalIndex>> indexes,
                     ActiveTasks* tasks);
  ~GlobalIndexBuilder();

  enum class State : std::uint8_t { more, done };
  /// Runs one slice: some tens of milliseconds. After an error the builder must not be used again.
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
  storage::BodyBuffer body_;  ///< scratch, reused
  storage::Sequence checkpoint_ = 0;
  std::uint64_t purge_count_ = 0;
  std::uint64_t documents_done_ = 0;
  std::uint64_t documents_total_ = 0;
  bool scanned_ = false;
};

}  // namespace octavo::query
