#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "query/advice/index/index_proposal.h"
#include "query/advice/index/shape_statistics.h"
#include "query/advice/request_recorder.h"

/// Which proposals save more than they cost.
namespace octavo::query::advice {

/// How often documents are written, from what was recorded.
struct WriteRate {
  double per_day = 0;
  /// Rows of an index that a write changes at most: one for a new document, two for each other change.
  double rows = 0;

  /// Request units per day that an index costs with a row for each document.
  double costs_per_day() const;
};

/// What a shape gains by an index.
struct ServedShape {
  const RecordedShape* shape = nullptr;
  double now = 0;  ///< mean charge: as recorded, or with the indexes chosen before
  double then = 0;
  double saves_per_day = 0;
  bool sorts_in_memory = false;
  bool tests_documents = false;
  RowSource source = RowSource::recorded;
};

struct IndexGain {
  std::size_t proposal = 0;  ///< number
  std::vector<ServedShape> serves;
  double saves_per_day = 0;
};

struct GainTerms {
  const RecordedRequests& recorded;
  const ScannedDocuments& scanned;
  const PresentIndexes& present;
  std::span<const IndexProposal> proposals;
  WriteRate writes;
  std::size_t physical_partitions = 1;
};

/// Chooses proposals one by one, each time the one that gains most with those before, as long as one saves more request
/// units than it costs. The planner and its estimate of charges decide, for the outlines of the shapes. Only what the
/// planner would really read by the index counts. At most `max`.
Expected<std::vector<IndexGain>> choose_indexes(const GainTerms& terms, std::size_t max);

/// Prepares the counting of what the planner will ask for.
void expect_values(ValueStatistics& values, std::span<const RecordedShape> shapes, const PresentIndexes& present,
                   std::span<const IndexProposal> proposals);

}  // namespace octavo::query::advice
