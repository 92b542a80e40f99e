// Estimates what a query costs with a candidate, in the request units that it is charged.
#include <algorithm>
#include <cmath>

#include "partitioning/throughput/request_charge.h"
#include "query/plan/internal/planner_run.h"

namespace octavo::query {

namespace {

// Assumed share of the entries in the ranges of an index that is not built yet, per column.
constexpr double unbuilt_share = 0.4;
// Lookups in another index are worth it if they avoid loading half of the documents (walk/entry_filter.h).
constexpr double spared_share = 0.5;

double price_of_key() {
  static const double price = partitioning::charge_of_scan({.partitions = 0, .keys = 1});
  return price;
}

}  // namespace

Expected<void> Planner::estimate(Candidate& candidate, const Selector& selector) {
  candidate.rows_exact = true;
  RowCount size;
  if (candidate.index) {
    if (candidate.bounds.ranges.empty()) return {};
    OCTAVO_TRY(const std::uint64_t entries, statistics_.entries(*candidate.index));
    if (!candidate.index->ready(scope_.partition_id)) {
      const auto columns = static_cast<double>(candidate.bounds.columns_used);
      candidate.rows = static_cast<std::uint64_t>(static_cast<double>(documents_) * std::pow(unbuilt_share, columns));
      candidate.rows_exact = false;
      return {};
    }
    if (!candidate.bounds.narrows()) {
      candidate.rows = entries;
      return {};
    }
    OCTAVO_TRY(size, statistics_.size_in(*candidate.index, candidate.bounds));
  } else {
    const FieldConstraint constraint = selector.constraint_for(id_path());
    if (constraint.is_everything() || (constraint.may_be_missing && constraint.intervals.empty())) {
      candidate.rows = documents_;
      return {};
    }
    OCTAVO_TRY(size, statistics_.size_of_ids(candidate.id_ranges));
  }
  candidate.rows = size.rows;
  candidate.rows_exact = size.exact;
  return {};
}

// Estimates the share of all documents that match, assuming that the conditions are independent. The share of a field
// comes from an index that only this field narrows, the share of several fields from an index that has them all.
double Planner::matching_share(const std::vector<Candidate>& candidates, const Selector& selector) const {
  if (documents_ == 0) return 1;
  const auto all = static_cast<double>(documents_);
  const auto& fields = selector.fields_used();
  const auto share_of = [&](const Candidate& candidate) {
    return std::min(1.0, static_cast<double>(candidate.rows) / all);
  };
  std::vector<double> shares(fields.size(), 1.0);
  for (const Candidate& candidate : candidates) {
    if (!candidate.usable) continue;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const bool alone = candidate.index ? candidate.bounds.columns_used == 1 &&
                                               candidate.index->definition->fields[0].path == fields[i] &&
                                               !candidate.index->definition->partial_filter
                                         : fields[i].is("_id");
      if (alone) shares[i] = std::min(shares[i], share_of(candidate));
    }
  }
  double product = 1;
  for (const double share : shares) product *= share;
  double least = product;
  for (const Candidate& candidate : candidates) {
    if (!candidate.usable || !candidate.index || candidate.bounds.columns_used < 2) continue;
    double share = share_of(candidate);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      const auto& columns = candidate.index->definition->fields;
      const auto used = columns.begin() + static_cast<std::ptrdiff_t>(candidate.bounds.columns_used);
      const bool held =
          std::any_of(columns.begin(), used, [&](const auto& column) { return column.path == fields[i]; });
      if (!held) share *= shares[i];
    }
    least = std::min(least, share);
  }
  return least;
}

Expected<void> Planner::estimate_all(std::vector<Candidate>& candidates, const Selector& selector) {
  for (Candidate& candidate : candidates) {
    if (candidate.usable) OCTAVO_TRY_VOID(estimate(candidate, selector));
  }
  if (request_.use_index.empty()) join_values(candidates);
  const double matches = matching_share(candidates, selector) * static_cast<double>(documents_);
  for (Candidate& candidate : candidates) {
    if (candidate.usable) price(candidate, candidates, matches);
  }
  return {};
}

// `matches`: the estimated number of matching documents.
void Planner::price(Candidate& candidate, const std::vector<Candidate>& candidates, double matches) const {
  const auto rows = static_cast<double>(candidate.rows);
  const double key = price_of_key();
  const bool spares_documents = candidate.index && candidate.covering;
  const double document = spares_documents ? 0 : document_price_;
  double each = key + document;
  candidate.most = each * rows;
  if (!candidate.leaps.empty()) {
    const auto streams = static_cast<double>(1 + candidate.leaps.size());
    double rarest = rows;
    for (const std::size_t i : candidate.leaps) rarest = std::min(rarest, static_cast<double>(candidates[i].rows));
    // Streams that skip few documents are suspended (walk/leap.h).
    candidate.most = std::min(streams * key * rarest + document * rarest, 1.25 * each * rows);
    each = rows > 0 ? candidate.most / rows : each;
  }
  double looked_for = static_cast<double>(documents_);
  bool looks = false;
  for (const Candidate& other : candidates) {
    if (!is_filter_of(other, candidate)) continue;
    looks = true;
    looked_for = std::min(looked_for, static_cast<double>(other.rows));
  }
  if (candidate.leaps.empty() && looks && looked_for < spared_share * rows) {
    candidate.most = 2 * key * rows + document * looked_for;
    each = candidate.most / rows;
  }
  expect_matches(candidate, matches);
}

// Sets what depends on `matches`, the estimated number of results in the candidate's ranges or in all.
void Planner::expect_matches(Candidate& candidate, double matches) const {
  const auto rows = static_cast<double>(candidate.rows);
  candidate.expected = candidate.most;
  candidate.matching = candidate.recheck && rows > 0 ? std::clamp(matches / rows, 1e-9, 1.0) : 1.0;
  const bool ends_at_limit = (request_.sort.empty() || candidate.serves_sort) && !request_.is_aggregated;
  if (!ends_at_limit || rows == 0) return;
  const auto wanted = static_cast<double>(request_.matches_needed);
  candidate.expected = std::min(candidate.most, candidate.most / rows * wanted / candidate.matching);
}

}  // namespace octavo::query
