#pragma once

#include <string>

#include "query/advice/query_outline.h"
#include "query/mango/find_request.h"

namespace octavo::query {

/// Appends the request without values: `year $eq ? and model $gt ? sort at desc`. Of a very long selector only the
/// beginning. Linear in the selector.
void append_shape(std::string& out, const FindRequest& request);

/// The request without values, for planning.
advice::QueryOutline outline_of(const FindRequest& request);

}  // namespace octavo::query
