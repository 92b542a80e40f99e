#include "query/design/design_scan.h"

#include <string>
#include <utility>

#include "partitioning/scan.h"

namespace octavo::query {

Expected<void> for_each_design_document(partitioning::Database& database,
                                        FunctionRef<void(const storage::DocumentView&)> visit) {
  partitioning::DocumentRange range;
  range.start = std::string(storage::design_prefix);
  range.end = "_design0";  // 0 follows /
  range.end_inclusive = false;
  partitioning::DocumentScan scan(database, std::move(range));
  const auto visit_live = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (!document.deleted) visit(document);
    return partitioning::Visit::next;
  };
  auto state = partitioning::ScanState::more;
  while (state == partitioning::ScanState::more) {
    OCTAVO_TRY(state, scan.run(partitioning::ScanBudget::worker_slice(), visit_live));
  }
  return {};
}

}  // namespace octavo::query
