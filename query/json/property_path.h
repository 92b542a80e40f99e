#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "query/json/field_path.h"

namespace octavo::query {

/// The parts of a property's path as Azure Cosmos DB writes them: `/address/zip`, `/"a b"/c`.
/// Errors: bad_request.
Expected<std::vector<std::string>> split_property_path(std::string_view text);

/// The same path as the indexes know it.
FieldPath property_field_path(const std::vector<std::string>& parts);

}  // namespace octavo::query
