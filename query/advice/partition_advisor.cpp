#include "query/advice/partition_advisor.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/assert.h"
#include "partitioning/engine.h"
#include "partitioning/throughput/throughput_budget.h"
#include "query/advice/key_proposal.h"

namespace octavo::query::advice {

namespace {

constexpr double normal_95 = 1.96;  // standard errors within which 95 % of a normal distribution are

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
  std::unique_ptr<DocumentSample> sample;
  if (request.sampled) {
    sample = std::make_unique<DocumentSample>(*database);
    OCTAVO_TRY(const bool is_worthwhile, sample->is_worthwhile());
    if (!is_worthwhile) sample.reset();
  }
  std::unique_ptr<PartitionAdvisor> advisor(
      new PartitionAdvisor(std::move(turn), std::move(database), std::move(request), std::move(present)));
  advisor->sample_ = std::move(sample);
  return advisor;
}

double PartitionAdvisor::share_read() const {
  if (!is_sampled() || documents_ == 0) return 1;
  return static_cast<double>(documents_) / static_cast<double>(sample_->population());
}

std::uint64_t PartitionAdvisor::bytes() const {
  return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes_) / share_read()));
}

std::optional<SampleBounds> PartitionAdvisor::sample() const {
  if (!is_sampled()) return std::nullopt;
  // The largest standard error of a share is that of one half.
  return SampleBounds{documents_,
                      normal_95 * 0.5 / std::sqrt(static_cast<double>(std::max<std::uint64_t>(documents_, 1)))};
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
  if (is_sampled()) {
    const auto take_one = [&](const storage::DocumentView& document) { take(document, failure); };
    OCTAVO_TRY(const auto state, sample_->run(budget, take_one));
    OCTAVO_TRY_VOID(failure);
    return state;
  }
  const auto visit = [&](const storage::DocumentView& document, const storage::Snapshot&) {
    if (document.deleted || storage::is_design_id(document.id)) return partitioning::Visit::next;
    take(document, failure);
    return failure ? partitioning::Visit::next : partitioning::Visit::stop;
  };
  OCTAVO_TRY(const auto state, scan_.run(budget, visit));
  OCTAVO_TRY_VOID(failure);
  return state;
}

// Bytes of the sample become those of all documents; the error of a value follows from the number of its documents.
void PartitionAdvisor::extrapolate(KeyAdvice& advice) const {
  const double share = share_read();
  const auto all = [share](std::uint64_t part) {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(part) / share));
  };
  const auto grow = [share](Forecast& forecast) {
    if (forecast.bytes_per_day) *forecast.bytes_per_day /= share;
    forecast.final_bytes /= share;
  };
  advice.values_are_of_sample = true;
  advice.values_low = advice.values;
  advice.missing = all(advice.missing);
  grow(advice.typical);
  for (auto& [value, forecast] : advice.largest) {
    const double part = static_cast<double>(value.documents) / static_cast<double>(documents_);
    value.bytes = all(value.bytes);
    value.error_max = static_cast<std::uint64_t>(normal_95 * static_cast<double>(value.bytes) *
                                                 std::sqrt((1 - part) / static_cast<double>(value.documents)));
    grow(forecast);
  }
}

std::vector<KeyAdvice> PartitionAdvisor::advice(const RecordedRequests& recorded) const {
  const auto& settings = database_->engine().settings();
  AdviceLimits limits;
  limits.logical_bytes_max = static_cast<double>(settings.logical_partition_bytes_max);
  limits.physical_bytes_max = static_cast<double>(settings.physical_partition_bytes_max);
  limits.horizon_days = request_.horizon_days;
  limits.throughput = request_.throughput;
  limits.share_read = share_read();
  std::vector<KeyAdvice> all;
  for (const auto& [counter, first_values] : counted_) {
    const KeyCounter* first = first_values ? counters_[*first_values].get() : nullptr;
    all.push_back(judge(*counters_[counter], first, frame_, limits));
    KeyAdvice& advice = all.back();
    if (is_sampled()) extrapolate(advice);
    advice.collisions_possible = collisions_possible(advice.candidate, present_);
    if (recorded.count > 0) advice.queries = judge_queries(advice.candidate, recorded, present_.candidate);
  }
  if (request_.candidates_are_proposed) remove_unfit(all, documents());
  rank(all, is_enough(recorded));
  return all;
}

}  // namespace octavo::query::advice
