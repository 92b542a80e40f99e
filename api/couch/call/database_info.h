#pragma once

#include <string>

#include "partitioning/database.h"

namespace octavo::api::couch {

/// Appends the information object of a database, as `GET /{db}` and `/_dbs_info` show it. Reads only counters, so the
/// cost does not grow with the database. On error `out` may contain an incomplete object.
Expected<void> append_database_info(std::string& out, partitioning::Database& database);

}  // namespace octavo::api::couch
