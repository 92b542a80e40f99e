#pragma once

#include <string>

#include "partitioning/database.h"

namespace octavo::api::couch {

/// Appends the information object of a database, as `GET /{db}` and `/_dbs_info` show it. Reads counters only: its cost
/// does not grow with the database. On error `out` may hold half an object.
Expected<void> append_database_info(std::string& out, partitioning::Database& database);

}  // namespace octavo::api::couch
