#pragma once

#include <optional>
#include <vector>

#include "query/advice/key_candidate.h"
#include "query/advice/request_recorder.h"

namespace octavo::query::advice {

struct ShapeAdvice {
  RecordedShape shape;
  bool fans_out = false;  ///< such a query would read all physical partitions
};

/// The recorded queries, as they would be under a candidate.
struct QueryAdvice {
  static constexpr std::size_t shapes_shown_max = 10;

  double fan_out_share = 0;           ///< of the queries
  double fan_out_charge_share = 0;    ///< of their request units
  std::vector<ShapeAdvice> by_shape;  ///< the most frequent ones
};

/// Whether a query of this shape would read all physical partitions under the key. `present`: the key of the database
/// now, whose values a request knows that names a logical partition.
bool fans_out(const KeyCandidate& candidate, const QueryShape& shape, const std::optional<KeyCandidate>& present);

QueryAdvice judge_queries(const KeyCandidate& candidate, const RecordedRequests& recorded,
                          const std::optional<KeyCandidate>& present);

}  // namespace octavo::query::advice
