#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"

namespace octavo::api::couch {

/// Walks local documents in byte order of their ids over all physical partitions. Like partitioning::DocumentScan it
/// holds no snapshot between calls. Local documents are few (checkpoints), so a backward walk first collects their ids.
class LocalDocumentScan {
 public:
  LocalDocumentScan(partitioning::Database& database, partitioning::DocumentRange range);
  Expected<partitioning::ScanState> run(partitioning::ScanBudget budget,
                                        FunctionRef<partitioning::Visit(const storage::LocalDocumentView&)> visit);

 private:
  using Visitor = FunctionRef<partitioning::Visit(const storage::LocalDocumentView&)>;
  Expected<partitioning::ScanState> run_forward(partitioning::ScanBudget budget, Visitor visit);
  Expected<void> collect_ids();

  partitioning::Database& database_;
  partitioning::DocumentRange range_;
  std::optional<std::string> last_;                       ///< id of the last document visited
  std::optional<std::vector<std::string>> backward_ids_;  ///< ascending; consumed from the end
};

}  // namespace octavo::api::couch
