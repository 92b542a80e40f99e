#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/error.h"
#include "partitioning/database.h"
#include "partitioning/scan.h"
#include "query/advice/advisor_turn.h"
#include "query/advice/key_verdict.h"
#include "query/advice/sample/document_sample.h"
#include "query/json/parsed_document.h"

namespace octavo::query::advice {

/// What the advisor is asked.
struct AdviceRequest {
  static constexpr std::size_t candidates_max = 16;

  std::vector<KeyCandidate> candidates;
  bool candidates_are_proposed = false;     ///< by propose_keys
  std::optional<AdvisedPath> time;          ///< of a document's time; nullopt: its last write
  std::optional<std::uint32_t> throughput;  ///< request units per second
  std::uint32_t horizon_days = 3 * 365;
  bool sampled = false;  ///< reads some documents only, if that is worthwhile

  /// The key is for a database with this throughput, and as many physical partitions as one gets that is created with
  /// it. False: for one with the present physical partitions.
  bool is_for_new_database = false;
};

/// How the documents of a database are divided now.
struct PresentKey {
  std::optional<KeyCandidate> candidate;  ///< nullopt: not by properties of the documents
  bool ids_are_unique = true;             ///< in the whole database, not only in a logical partition
};

/// What is known if not all documents were read.
struct SampleBounds {
  std::uint64_t documents = 0;  ///< that were read
  double share_error = 0;       ///< of shares of the documents, at most, with 95 %
};

/// Reads all documents of a database, or a sample of them, and says how well each candidate would divide them. Holds no
/// snapshot between slices. At most 8 MB for each candidate, and twice that for hierarchical keys: so one advisor runs
/// at a time in the process. One thread at a time.
class PartitionAdvisor {
 public:
  /// Errors: conflict (`advisor_running`), those of the storage.
  static Expected<std::unique_ptr<PartitionAdvisor>> start(std::shared_ptr<partitioning::Database> database,
                                                           AdviceRequest request, PresentKey present);
  PartitionAdvisor(const PartitionAdvisor&) = delete;
  PartitionAdvisor& operator=(const PartitionAdvisor&) = delete;

  /// Reads some documents. Errors: those of the storage; not_found once the database was deleted.
  Expected<partitioning::ScanState> run_slice(partitioning::ScanBudget budget);

  /// Of the database: of a sample, `bytes` are estimated.
  std::uint64_t documents() const { return is_sampled() ? sample_->population() : documents_; }
  std::uint64_t bytes() const;
  std::uint64_t documents_read() const { return documents_; }
  /// nullopt: all documents were read.
  std::optional<SampleBounds> sample() const;
  /// Documents without a time: they are counted, but say nothing of growth.
  std::uint64_t documents_without_time() const { return without_time_; }
  const TimeFrame& time_frame() const { return frame_; }
  const AdviceRequest& request() const { return request_; }
  /// The point requests that were recorded when the scan began.
  const RequestedDocuments& requested() const { return requested_; }
  std::size_t physical_partitions() const { return ranges_.size(); }
  /// Judges and ranks the candidates, the best first. Precondition: the scan is done. O(values).
  std::vector<KeyAdvice> advice(const RecordedRequests& recorded) const;
  /// Fewer recorded queries do not decide about a key.
  static bool is_enough(const RecordedRequests& recorded) { return recorded.count >= recorded_min; }

 private:
  static constexpr std::uint64_t recorded_min = 1'000;

  PartitionAdvisor(AdvisorTurn turn, std::shared_ptr<partitioning::Database> database, AdviceRequest request,
                   PresentKey present);
  std::size_t counter_of(const KeyCandidate& candidate);
  void take(const storage::DocumentView& document, Expected<void>& failure);
  bool is_sampled() const { return sample_ != nullptr; }
  void extrapolate(KeyAdvice& advice) const;
  /// The part of the documents that was read; 1: all.
  double share_read() const;

  const AdvisorTurn turn_;
  const std::shared_ptr<partitioning::Database> database_;
  const AdviceRequest request_;
  const PresentKey present_;
  const RequestedDocuments requested_;
  const partitioning::PartitionMap ranges_;
  partitioning::DocumentScan scan_;
  std::unique_ptr<DocumentSample> sample_;  ///< null: all documents are read, by scan_
  DocumentParser parser_{LargeIntegers::rounded};
  std::vector<std::unique_ptr<KeyCounter>> counters_;  ///< of the candidates, and of first paths of hierarchical ones
  struct Counted {
    std::size_t counter;
    std::optional<std::size_t> first_values;
  };
  std::vector<Counted> counted_;  ///< by candidate: numbers of counters
  TimeFrame frame_;
  std::uint64_t documents_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t without_time_ = 0;
};

}  // namespace octavo::query::advice
