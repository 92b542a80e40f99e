#pragma once

#include "api/http/request.h"
#include "base/error.h"
#include "query/sql/compile/sql_query.h"

namespace octavo::api::cosmos {

/// Parses the query in a request's body: `{"query":…,"parameters":[…]}`, or the bare text. `computed`: computed
/// properties that it may name. Errors: bad_request.
Expected<query::sql::SqlQuery::Ptr> parse_query(const Request& request,
                                                query::sql::ComputedProperties::Ptr computed = nullptr);

/// An error of the query language in the form that clients of Azure Cosmos DB read.
Error sql_error(const query::sql::SqlError& error);

}  // namespace octavo::api::cosmos
