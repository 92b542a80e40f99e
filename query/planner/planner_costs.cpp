// What it costs to run a query by a candidate.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "query/planner/internal/planner_run.h"

namespace octavo::query {

namespace {

// Rows counted in a candidate's ranges; more of them where the query seems to cost so many microseconds at least.
struct CountStep {
  std::uint64_t rows_max;
  double cost_min;
};
constexpr std::array kCountSteps{CountStep{128, 0}, CountStep{1024, 250}, CountStep{8192, 2500}};

// Microseconds per row, measured on warm pages. Only their proportions matter.
constexpr double kEntryCost = 0.25;  // step of an index cursor
constexpr double kFetchCost = 1.0;   // document by id
constexpr double kScanCost = 0.35;   // step of the document cursor
constexpr double kMatchCost = 0.8;   // parse and test
constexpr double kRangeCost = 0.6;   // seek
// A walk over all documents reads cold pages that an index would not touch; what it costs the others is not measured
// here. So an index that narrows at all is preferred.
constexpr double kFullScanFactor = 2.5;
constexpr double kFullScanBase = 50;

// The share of rows taken to lie in ranges that were not counted to their end.
constexpr double kPointShare = 0.1;
constexpr double kRangeShare = 0.4;

}  // namespace

Expected<void> Planner::estimate(Candidate& candidate, const Selector& selector, std::uint64_t count_max) {
  RowCount counted;
  std::uint64_t total = documents_;
  double share = kRangeShare;
  if (candidate.index) {
    if (candidate.bounds.ranges.empty()) {
      candidate.rows_exact = true;
      return {};
    }
    if (!candidate.index->ready(scope_.place)) {
      candidate.rows = static_cast<std::uint64_t>(
          static_cast<double>(total) * std::pow(kRangeShare, static_cast<double>(candidate.bounds.columns_used)));
      return {};
    }
    OCTAVO_TRY(total, statistics_.entries(*candidate.index));
    if (!candidate.bounds.narrows()) {
      candidate.rows = total;
      candidate.rows_exact = true;
      return {};
    }
    OCTAVO_TRY(counted, statistics_.count(*candidate.index, candidate.bounds.ranges, count_max));
    const auto points = static_cast<double>(candidate.bounds.point_columns);
    if (points > 0) share = std::pow(kPointShare, points);
  } else {
    const FieldConstraint constraint = selector.constraint_for(id_path());
    if (constraint.is_everything() || (constraint.may_be_missing && constraint.intervals.empty())) {
      candidate.rows = total;
      candidate.rows_exact = true;
      return {};
    }
    OCTAVO_TRY(counted, statistics_.count_ids(candidate.id_ranges, count_max));
  }
  candidate.rows = counted.rows;
  candidate.rows_exact = !counted.capped;
  if (counted.capped) {
    const auto guess = static_cast<std::uint64_t>(static_cast<double>(total) * share);
    candidate.rows = std::max(counted.rows, std::min(total, guess));
  }
  return {};
}

Expected<void> Planner::estimate_all(std::vector<Candidate>& candidates, const Selector& selector) {
  double least = 0;
  bool exact = false;
  for (const CountStep& step : kCountSteps) {
    if (exact || least < step.cost_min) break;
    std::uint64_t matches = documents_;
    for (Candidate& candidate : candidates) {
      if (!candidate.usable) continue;
      if (!candidate.rows_exact) OCTAVO_TRY_VOID(estimate(candidate, selector, step.rows_max));
      matches = std::min(matches, candidate.rows);
    }
    least = std::numeric_limits<double>::infinity();
    exact = true;
    for (Candidate& candidate : candidates) {
      if (!candidate.usable) continue;
      price(candidate, matches);
      least = std::min(least, candidate.cost);
      exact = exact && candidate.rows_exact;
    }
  }
  return {};
}

// `matches`: how many documents match at most, as far as is known.
void Planner::price(Candidate& candidate, std::uint64_t matches) const {
  const bool sort = !request_.sort.empty() && !candidate.serves_sort;
  const auto rows = static_cast<double>(candidate.rows);
  double examined = rows;
  if (!sort) {
    const auto wanted = static_cast<double>(request_.matches_needed());
    double hit_share = 1.0;
    if (candidate.recheck && rows > 0) {
      // Half of the narrowest index's rows: a guess that keeps a walk with tests from looking free.
      hit_share = std::clamp(static_cast<double>(matches) / rows, 0.0001, 0.5);
    }
    examined = std::min(rows, wanted / hit_share);
  }
  const bool reads_documents = candidate.recheck || request_.aggregation;
  double per_row = reads_documents && !candidate.covering ? kMatchCost : 0.0;
  double base = 0;
  if (candidate.index) {
    per_row += kEntryCost + (candidate.covering ? 0.1 : kFetchCost);
    base = kRangeCost * static_cast<double>(candidate.bounds.ranges.size());
  } else {
    per_row += kScanCost;
    const bool all = candidate.id_ranges.size() == 1 && !candidate.id_ranges[0].start && !candidate.id_ranges[0].end;
    if (all) {
      if (!request_.selector.fields_used().empty() || sort) {
        per_row *= kFullScanFactor;
        base = kFullScanBase;
      }
    } else {
      base = kRangeCost * static_cast<double>(candidate.id_ranges.size());
    }
  }
  candidate.cost = base + examined * per_row + (sort ? rows * kSortCost : 0.0);
}

}  // namespace octavo::query
