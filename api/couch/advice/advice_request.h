#pragma once

#include <boost/json.hpp>

#include "base/error.h"
#include "query/advice/partition_advisor.h"

namespace octavo::api::couch {

/// Reads the body of `_partition_advisor`. Without candidates they are to be proposed. Errors: bad_request, naming the
/// member.
Expected<query::advice::AdviceRequest> read_advice_request(const boost::json::object& body);

/// A candidate as the body and the reply have it: `"/id"`, `["/id","/month"]`,
/// `{"concat":["/id","/month"],"separator":"-"}`. Errors: bad_request.
Expected<query::advice::KeyCandidate> read_candidate(const boost::json::value& json);
boost::json::value candidate_json(const query::advice::KeyCandidate& candidate);

}  // namespace octavo::api::couch
