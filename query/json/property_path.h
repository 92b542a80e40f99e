#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/json/field_path.h"

namespace octavo::query {

/// The parts of a property's path in the form of Azure Cosmos DB: `/address/zip`, `/"a b"/c`. Errors: bad_request.
Expected<std::vector<std::string>> split_property_path(std::string_view text);

/// The same path in the form that indexes use.
FieldPath property_field_path(const std::vector<std::string>& parts);

}  // namespace octavo::query
