#include "query/advice/key_queries.h"

#include <algorithm>

namespace octavo::query::advice {

bool fans_out(const KeyCandidate& candidate, const QueryShape& shape, const std::optional<KeyCandidate>& present) {
  const auto is_known = [&](const AdvisedPath& path) {
    if (shape.in_partition && present && present->has(path)) return true;
    return std::ranges::any_of(shape.equalities, [&](const FieldPath& equality) { return path.is(equality); });
  };
  // The first value of a hierarchical key decides the physical partition. A composite text needs all of its parts.
  if (candidate.kind == KeyCandidate::Kind::composite) return !std::ranges::all_of(candidate.paths, is_known);
  return !is_known(candidate.paths.front());
}

QueryAdvice judge_queries(const KeyCandidate& candidate, const RecordedRequests& recorded,
                          const std::optional<KeyCandidate>& present) {
  QueryAdvice advice;
  double count = 0;
  double units = 0;
  for (const RecordedShape& shape : recorded.shapes) {
    const bool fanned = fans_out(candidate, shape, present);
    count += static_cast<double>(shape.count);
    units += shape.request_units;
    if (fanned) advice.fan_out_share += static_cast<double>(shape.count);
    if (fanned) advice.fan_out_charge_share += shape.request_units;
    if (advice.by_shape.size() < QueryAdvice::shapes_shown_max) advice.by_shape.push_back({shape, fanned});
  }
  if (count > 0) advice.fan_out_share /= count;
  if (units > 0) advice.fan_out_charge_share /= units;
  return advice;
}

}  // namespace octavo::query::advice
