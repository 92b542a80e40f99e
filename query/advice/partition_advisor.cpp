#include "query/advice/partition_advisor.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/throughput_budget.h"
#include "query/advice/key_proposal.h"

namespace octavo::query::advice {

namespace {

// The ranges with new numbers, in the order of the hash space.
std::vector<storage::PartitionMapEntry> numbered(std::vector<storage::PartitionMapEntry> ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    ranges[i].folder = storage::partition_folder(static_cast<std::uint32_t>(i));
    ranges[i].ancestors.clear();
  }
  return ranges;
}

partitioning::PartitionMap ranges_for(partitioning::Database& database, const AdviceRequest& request) {
  if (request.is_for_new_database && request.throughput) {
    constexpr std::uint32_t each = partitioning::partition_throughput_max;
    const std::uint32_t count = *request.throughput / each + (*request.throughput % each == 0 ? 0 : 1);
    return partitioning::PartitionMap(
        partitioning::PartitionMap::even(std::max(count, database.engine().settings().default_q)));
  }
  return partitioning::PartitionMap(numbered(database.partition_map().ranges()));
}

/// Whether two documents of one logical partition could have the same id: ids are unique only within a present key, so
/// the new key and the id must determine that.
bool collisions_possible(const KeyCandidate& candidate, const PresentKey& present) {
  if (present.ids_are_unique) return false;
  if (!present.candidate) return true;
  const auto is_id = [](const AdvisedPath& path) { return path.text() == "/id"; };
  const auto others = std::ranges::count_if(candidate.paths, [&](const auto& path) { return !is_id(path); });
  // "a-b" and "c" joined are the same text as "a" and "b-c".
  if (candidate.kind == KeyCandidate::Kind::composite && others > 1) return true;
  return !std::ranges::all_of(present.candidate->paths,
                              [&](const auto& path) { return is_id(path) || candidate.has(path); });
}

}  // namespace

Expected<std::unique_ptr<PartitionAdvisor>> PartitionAdvisor::start(std::shared_ptr<partitioning::Database> database,
                                                                    AdviceRequest request, PresentKey present) {
  OCTAVO_TRY(AdvisorTurn turn, AdvisorTurn::take());
  return std::unique_ptr<PartitionAdvisor>(
      new PartitionAdvisor(std::move(turn), std::move(database), std::move(request), std::move(present)));
}

PartitionAdvisor::PartitionAdvisor(AdvisorTurn turn, std::shared_ptr<partitioning::Database> database,
                                   AdviceRequest request, PresentKey present)
    : turn_(std::move(turn)),
      database_(std::move(database)),
      request_(std::move(request)),
      present_(std::move(present)),
      requested_(database_->meter().point_requests().recorded()),
      ranges_(ranges_for(*database_, request_)),
      scan_(*database_, {}) {
  OCTAVO_ASSERT(request_.candidates.size() <= AdviceRequest::candidates_max);
  for (const KeyCandidate& candidate : request_.candidates) {
    Counted counted{counter_of(candidate), std::nullopt};
    if (candidate.kind == KeyCandidate::Kind::hierarchical) {
      counted.first_values = counter_of({KeyCandidate::Kind::single, {candidate.paths.front()}, {}});
    }
    counted_.push_back(counted);
  }
}

// Equal ones share a counter.
std::size_t PartitionAdvisor::counter_of(const KeyCandidate& candidate) {
  const auto known = std::ranges::find_if(counters_, [&](const auto& one) { return one->candidate() == candidate; });
  if (known != counters_.end()) return static_cast<std::size_t>(known - counters_.begin());
  counters_.push_back(std::make_unique<KeyCounter>(candidate, ranges_));
  return counters_.size() - 1;
}

void PartitionAdvisor::take(const storage::DocumentView& document, Expected<void>& failure) {
  const auto body = parser_.parse(document.body);
  if (!body) {
    failure = std::unexpected(body.error());
    return;
  }
  const ScannedDocument scanned{*body, document.id, document.modified_s, document.id.size() + document.body.size()};
  std::optional<std::uint32_t> time_s;
  if (request_.time) {
    time_s = request_.time->read_time(scanned);
  } else if (document.modified_s > 0) {
    time_s = static_cast<std::uint32_t>(std::min<std::int64_t>(document.modified_s, UINT32_MAX));
  }
  ++documents_;
  bytes_ += scanned.bytes;
  if (time_s) {
    frame_.add(*time_s);
  } else {
    ++without_time_;
  }
  const PointUse* const requested = requested_.find(scanned.id);
  for (const auto& counter : counters_) counter->add(scanned, time_s, requested);
}

Expected<partitioning::ScanState> PartitionAdvisor::run_slice(partitioning::ScanBudget budget) {
  if (database_->deleted()) return fail(ErrorCode::not_found, "Database does not exist.");
  Expected<void> failure;
  const auto visit = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (document.deleted || storage::is_design_id(document.id)) return partitioning::Visit::next;
    take(document, failure);
    return failure ? partitioning::Visit::next : partitioning::Visit::stop;
  };
  OCTAVO_TRY(const auto state, scan_.run(budget, visit));
  OCTAVO_TRY_VOID(failure);
  return state;
}

std::vector<KeyAdvice> PartitionAdvisor::advice(const RecordedRequests& recorded) const {
  const auto& settings = database_->engine().settings();
  AdviceLimits limits;
  limits.logical_bytes_max = static_cast<double>(settings.logical_partition_bytes_max);
  limits.physical_bytes_max = static_cast<double>(settings.physical_partition_bytes_max);
  limits.horizon_days = request_.horizon_days;
  limits.throughput = request_.throughput;
  std::vector<KeyAdvice> all;
  for (const auto& [counter, first_values] : counted_) {
    const KeyCounter* first = first_values ? counters_[*first_values].get() : nullptr;
    all.push_back(judge(*counters_[counter], first, frame_, limits));
    KeyAdvice& advice = all.back();
    advice.collisions_possible = collisions_possible(advice.candidate, present_);
    if (recorded.count > 0) advice.queries = judge_queries(advice.candidate, recorded, present_.candidate);
  }
  if (request_.candidates_are_proposed) remove_unfit(all, documents_);
  rank(all, is_enough(recorded));
  return all;
}

}  // namespace octavo::query::advice
