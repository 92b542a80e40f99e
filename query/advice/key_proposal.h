#pragma once

#include <vector>

#include "base/error.h"
#include "partitioning/database.h"
#include "query/advice/key_verdict.h"
#include "query/advice/request_recorder.h"

namespace octavo::query::advice {

/// Proposes keys: `/id`, or `/_id` where the documents have no such property; properties that recorded queries compare
/// with one value; and hierarchical keys of one of these and a property with months or days (`2020-05`, `2020-05-31`).
/// At most AdviceRequest's maximum. Reads some documents, to learn their properties: one slice. Errors: those of the
/// storage.
Expected<std::vector<KeyCandidate>> propose_keys(partitioning::Database& database, const RecordedRequests& recorded,
                                                 std::size_t proposals_max);

/// Removes proposals that cannot be keys: at most ten values, or lacking in more than 1 % of the documents.
void remove_unfit(std::vector<KeyAdvice>& proposals, std::uint64_t documents);

}  // namespace octavo::query::advice
