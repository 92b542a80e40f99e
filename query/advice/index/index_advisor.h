#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"
#include "query/advice/advisor_turn.h"
#include "query/advice/index/index_gain.h"
#include "query/advice/index/index_proposal.h"
#include "query/advice/index/value_statistics.h"
#include "query/advice/request_recorder.h"
#include "query/json/parsed_document.h"

namespace octavo::query::advice {

/// What the advisor works with.
struct IndexAdvisorInput {
  RecordedRequests recorded;
  WriteCounters written;  ///< now
  PresentIndexes present;
  std::size_t max = 5;  ///< indexes that are advised
};

/// An index that would save more than it costs.
struct IndexAdvice {
  IndexProposal proposal;
  std::vector<ServedShape> serves;
  double saves_per_day = 0;
  double costs_per_day = 0;
  std::uint64_t bytes = 0;  ///< of its entries
  RowSource source = RowSource::recorded;
};

/// An index that no recorded query used.
struct UnusedIndex {
  IndexDefinitionPtr definition;
  double days = 0;           ///< as long as that was observed at least
  double costs_per_day = 0;  ///< at most
};

struct IndexAdvices {
  std::vector<IndexAdvice> create;  ///< the one that saves most first
  std::vector<UnusedIndex> unused;
  WriteRate writes;
  std::size_t shapes_left_out = 0;  ///< shapes with too many conditions, or for whose outlines there was no memory
};

/// Reads all documents of a database, and says which indexes would save more request units than they cost, for the
/// recorded queries. Holds no snapshot between slices, and creates nothing. At most 2 MB. One thread at a time.
class IndexAdvisor {
 public:
  static constexpr std::size_t advices_max = 20;

  /// Errors: conflict (`advisor_running`).
  static Expected<std::unique_ptr<IndexAdvisor>> start(std::shared_ptr<partitioning::Database> database,
                                                       IndexAdvisorInput input);
  IndexAdvisor(const IndexAdvisor&) = delete;
  IndexAdvisor& operator=(const IndexAdvisor&) = delete;

  /// Reads some documents. Errors: those of the storage; not_found once the database was deleted.
  Expected<partitioning::ScanState> run_slice(partitioning::ScanBudget budget);

  std::uint64_t documents() const { return values_.documents(); }
  std::uint64_t documents_read() const { return documents(); }
  const RecordedRequests& recorded() const { return input_.recorded; }
  /// Precondition: the scan is done. Plans each shape with each proposal that could serve it, for each that is chosen:
  /// some tens of microseconds each.
  Expected<IndexAdvices> advice() const;
  /// Fewer queries, or a shorter time, say little of a day.
  static bool is_enough(const RecordedRequests& recorded) {
    return recorded.count >= recorded_min && recorded.seconds() >= seconds_min;
  }

 private:
  static constexpr std::uint64_t recorded_min = 1'000;
  static constexpr std::int64_t seconds_min = 3'600;

  IndexAdvisor(AdvisorTurn turn, std::shared_ptr<partitioning::Database> database, IndexAdvisorInput input);
  Expected<void> take(const storage::DocumentView& document);
  void measure(const storage::DocumentView& document, const simdjson::dom::element& body);
  WriteRate write_rate() const;
  std::vector<UnusedIndex> unused(const WriteRate& writes) const;
  std::uint64_t bytes_of(std::size_t proposal) const;

  const AdvisorTurn turn_;
  const std::shared_ptr<partitioning::Database> database_;
  const IndexAdvisorInput input_;
  const std::vector<IndexProposal> proposals_;
  partitioning::DocumentScan scan_;
  DocumentParser parser_{LargeIntegers::rounded};
  ValueStatistics values_;
  std::uint64_t bytes_ = 0;
  std::uint64_t measured_ = 0;              ///< documents whose entries were made
  std::vector<std::uint64_t> entry_bytes_;  ///< by proposal, of these
};

}  // namespace octavo::query::advice
