#pragma once

#include <string>
#include <vector>

#include "query/json/field_path.h"
#include "query/mango/find_request.h"

namespace octavo::query {

/// Appends the request without values: `year $eq ? and model $gt ? sort at desc`. Of a very long selector only the
/// beginning. Linear in the selector.
void append_shape(std::string& out, const FindRequest& request);

/// The fields that must equal one value.
std::vector<FieldPath> equalities_of(const FindRequest& request);

}  // namespace octavo::query
