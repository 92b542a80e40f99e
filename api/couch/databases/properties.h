#pragma once

#include <string_view>

#include "api/couch/databases/creation.h"
#include "base/error.h"
#include "query/database/database_properties.h"

namespace octavo::api::couch {

/// The properties of a new database: `PUT /{db}?ttl=3600&throughput=400&all_versions=86400`. Errors: bad_request.
Expected<query::DatabaseProperties> properties_of_creation(CreationParameters parameters, std::string_view database);

}  // namespace octavo::api::couch
