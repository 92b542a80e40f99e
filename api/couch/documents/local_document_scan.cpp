#include "api/couch/documents/local_document_scan.h"

#include <algorithm>

namespace octavo::api::couch {

using partitioning::ScanBudget;
using partitioning::ScanState;
using partitioning::Visit;
using storage::LocalDocumentView;

namespace {

// Limit of the ids kept in memory for a backward walk.
constexpr std::size_t backward_ids_max = 1'000'000;

}  // namespace

LocalDocumentScan::LocalDocumentScan(partitioning::Database& database, partitioning::DocumentRange range)
    : database_(database), range_(std::move(range)) {}

Expected<ScanState> LocalDocumentScan::run(ScanBudget budget, Visitor visit) {
  if (!range_.descending) return run_forward(budget, visit);
  if (!backward_ids_) OCTAVO_TRY_VOID(collect_ids());
  for (std::size_t rows = 0; !backward_ids_->empty(); ++rows) {
    if (rows == budget.rows_max) return ScanState::more;
    const auto id = std::move(backward_ids_->back());
    backward_ids_->pop_back();
    OCTAVO_TRY(const auto snapshot, database_.snapshot_for_document(id));
    OCTAVO_TRY(const auto document, snapshot.find_local(id));
    if (!document) continue;
    const auto verdict = visit(*document);
    if (verdict == Visit::stop) return ScanState::done;
    if (verdict == Visit::pause) return ScanState::more;
  }
  return ScanState::done;
}

Expected<ScanState> LocalDocumentScan::run_forward(ScanBudget budget, Visitor visit) {
  struct Source {
    storage::Snapshot snapshot;
    std::optional<storage::Snapshot::LocalDocumentCursor> cursor;
    std::optional<LocalDocumentView> current;
  };
  const auto from = last_ ? *last_ : range_.start.value_or("");
  std::vector<Source> sources;
  const std::vector<std::size_t>& partition_ids = database_.partition_ids();
  sources.reserve(partition_ids.size());
  for (const std::size_t partition_id : partition_ids) {
    OCTAVO_TRY(auto snapshot, database_.snapshot(partition_id));
    sources.push_back(Source{std::move(snapshot), std::nullopt, std::nullopt});
  }
  for (auto& source : sources) {  // create cursors only now: they refer to the snapshots, which must not move
    source.cursor.emplace(source.snapshot.local_documents());
    source.current = source.cursor->seek(from);
    if (last_ && source.current && source.current->id == *last_) source.current = source.cursor->next();
  }
  for (std::size_t rows = 0;; ++rows) {
    Source* first = nullptr;
    for (auto& source : sources) {
      if (source.current && (!first || source.current->id < first->current->id)) first = &source;
    }
    if (!first) return ScanState::done;
    const auto id = first->current->id;
    if (range_.end && (range_.end_inclusive ? id > *range_.end : id >= *range_.end)) return ScanState::done;
    if (rows == budget.rows_max) return ScanState::more;
    const auto verdict = visit(*first->current);
    last_ = std::string(id);
    if (verdict == Visit::stop) return ScanState::done;
    if (verdict == Visit::pause) return ScanState::more;
    first->current = first->cursor->next();
  }
}

Expected<void> LocalDocumentScan::collect_ids() {
  auto forward = range_;
  forward.descending = false;
  forward.start = range_.end;
  forward.end = range_.start;
  forward.end_inclusive = true;
  LocalDocumentScan scan(database_, std::move(forward));
  std::vector<std::string> ids;
  auto visit = [&](const LocalDocumentView& document) {
    const bool excluded = !range_.end_inclusive && range_.end && document.id == *range_.end;
    if (!excluded) ids.emplace_back(document.id);
    return ids.size() == backward_ids_max ? Visit::stop : Visit::next;
  };
  while (true) {
    OCTAVO_TRY(const auto state, scan.run(ScanBudget::worker_slice(), visit));
    if (state == ScanState::done) break;
  }
  if (ids.size() == backward_ids_max) return fail(ErrorCode::too_large, "Too many local documents to list backwards.");
  backward_ids_ = std::move(ids);
  return {};
}

}  // namespace octavo::api::couch
