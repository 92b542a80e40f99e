#pragma once

#include <boost/json.hpp>

#include "partitioning/database.h"
#include "query/mango/prepared_find.h"
#include "query/mango/text_find.h"

/// The reply to `_explain`: CouchDB's members, and what the planner knows besides.
namespace octavo::api::couch {

/// Also shows rows and charges of every candidate, the ranges that are read, whether documents are tested, and whether
/// the result is sorted in memory. `find` was prepared with `explain`.
boost::json::object explain_find(const partitioning::Database& database, const query::PreparedFind& find);

/// For a request that a text index answers.
boost::json::object explain_find(const partitioning::Database& database, const query::search::TextFind& find);

}  // namespace octavo::api::couch
