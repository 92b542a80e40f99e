#include "query/advice/sample/document_sample.h"

#include <algorithm>

namespace octavo::query::advice {

namespace {

constexpr std::size_t probes = 1'000;

storage::Sequence first_sequence(const partitioning::Database& database) {
  return database.sequence_base() + 1;
}

}  // namespace

DocumentSample::DocumentSample(partitioning::Database& database)
    : database_(database),
      sequences_(first_sequence(database), std::max(first_sequence(database), database.watermark())) {}

// Draws a sequence that was not drawn before. False: no document has it.
Expected<bool> DocumentSample::draw(FunctionRef<void(const storage::DocumentView&)> visit) {
  storage::Sequence sequence = sequences_(random_);
  if (!drawn_.insert(sequence).second) return false;
  for (const std::size_t partition_id : database_.partition_ids()) {
    OCTAVO_TRY(const auto snapshot, database_.snapshot(partition_id));
    auto feed = snapshot.feed();
    const auto row = feed.seek(sequence);
    if (!row || row->sequence != sequence) continue;
    if (row->deleted || storage::is_design_id(row->id)) return false;
    OCTAVO_TRY(const auto document, snapshot.find(row->id));
    if (!document || document->deleted) return false;
    visit(*document);
    return true;
  }
  return false;
}

Expected<bool> DocumentSample::is_worthwhile() {
  OCTAVO_TRY(const auto statistics, database_.statistics());
  population_ = statistics.document_count;
  if (population_ <= 2 * size) return false;
  std::uint64_t hits = 0;
  for (std::size_t i = 0; i < probes; ++i) {
    OCTAVO_TRY(const bool hit, draw([](const storage::DocumentView&) {}));
    if (hit) ++hits;
  }
  drawn_.clear();
  return hits * draws_per_hit_max >= probes;
}

Expected<partitioning::ScanState> DocumentSample::run(partitioning::ScanBudget budget,
                                                      FunctionRef<void(const storage::DocumentView&)> visit) {
  for (std::size_t rows = 1; rows <= budget.rows_max && !budget.is_over_after(rows); ++rows) {
    // Many sequences may have become old since the probe.
    if (hits_ == size || drawn_.size() >= 2 * draws_per_hit_max * size) return partitioning::ScanState::done;
    OCTAVO_TRY(const bool hit, draw(visit));
    if (hit) ++hits_;
  }
  return hits_ == size ? partitioning::ScanState::done : partitioning::ScanState::more;
}

}  // namespace octavo::query::advice
