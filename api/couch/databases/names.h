#pragma once

#include <string_view>

#include "base/error.h"
#include "partitioning/database.h"

namespace octavo::api::couch {

/// Whether the database may have this name, by the rules of the API that created it. Errors: bad_request.
Expected<void> check_further_name(const partitioning::Database& database, std::string_view name);

}  // namespace octavo::api::couch
